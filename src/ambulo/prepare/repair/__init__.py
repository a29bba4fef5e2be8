"""Mending a take, on request only: one module an operation."""
