"""Headers of file formats, read without the data."""
