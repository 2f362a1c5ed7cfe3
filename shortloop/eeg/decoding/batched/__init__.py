"""One training for many labellings of the same trials."""
