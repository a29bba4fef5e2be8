"""The web application's server."""
