"""What is learned from a database: one training loop, networks one file each, and the controllers that run them."""
