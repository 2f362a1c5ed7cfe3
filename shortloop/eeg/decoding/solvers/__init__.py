"""Training a classifier: the mathematics."""
