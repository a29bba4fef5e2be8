"""Skeleton and motion: kinematics, resampling, mirroring, humanoid joint naming, inverse kinematics."""
