"""Reading and writing motion files: one file a format, behind ambulo.load and ambulo.save."""
