"""Units of work: distribution, checkpoints, messages and row files."""
