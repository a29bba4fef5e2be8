"""What is wrong with a take, as spans of frames: one module a kind of finding."""
