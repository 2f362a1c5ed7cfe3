"""A stage in each file: what is computed."""
