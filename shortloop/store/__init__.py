"""Finished jobs: where they are, their contents, and whether they are intact."""
