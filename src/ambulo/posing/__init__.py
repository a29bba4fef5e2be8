"""Full poses from any few points: a wrist is set, the body follows."""
