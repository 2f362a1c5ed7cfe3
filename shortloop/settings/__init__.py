"""Typed settings from TOML, explained field by field, for any analysis."""
