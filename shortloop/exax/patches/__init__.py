"""Patches applied to exax when its server starts."""
