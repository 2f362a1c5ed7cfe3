"""The shortloop command, thin."""
