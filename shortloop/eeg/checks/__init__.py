"""What the data of a study must be: complete, plausible, the same from participant to participant."""
