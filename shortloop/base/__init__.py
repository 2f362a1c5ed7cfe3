"""Shared foundations: errors, text, plain data, seeds, spans, array types, optional packages."""
