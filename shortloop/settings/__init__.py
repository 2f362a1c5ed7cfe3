"""Typed settings from TOML, with field-by-field error messages."""
