"""Finished jobs: where they are, what they are, and whether they still are."""
