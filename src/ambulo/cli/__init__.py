"""The ``ambulo`` command: thin, one file a verb."""
