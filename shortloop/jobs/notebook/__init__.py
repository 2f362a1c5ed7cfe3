"""Functions of a notebook as stages: written down as methods, and built by a process beside the notebook."""
