"""What is compared (the feature schema) and how it is found (exact search)."""
