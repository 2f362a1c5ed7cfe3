"""Selection of the trials and features of a fold."""
