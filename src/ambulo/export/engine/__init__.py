"""Controllers for other engines: one ONNX graph that is the whole step, with a manifest and a recording to check it."""
