"""Intent in, pose out: trajectories, controllers, inertialization, foot lock, simulation."""
