"""Measures of motion, each beside the same measure on the raw data."""
