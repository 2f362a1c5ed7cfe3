"""The project's location, configuration and system errors."""
