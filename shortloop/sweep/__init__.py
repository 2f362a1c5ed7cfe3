"""A sweep: one build script with a grid of settings, each a run of its own, and what changed between them."""
