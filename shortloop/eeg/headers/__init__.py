"""Headers of file formats: what a file says of itself, read without its data."""
