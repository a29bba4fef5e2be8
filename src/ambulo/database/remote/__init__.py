"""Sources and databases that lie at a URL."""
