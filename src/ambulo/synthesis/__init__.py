"""The embedded default data: a parametric mocap synthesizer with exact ground truth."""
