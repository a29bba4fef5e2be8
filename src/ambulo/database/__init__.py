"""The project file, the build, its storage, tags, and the built database."""
