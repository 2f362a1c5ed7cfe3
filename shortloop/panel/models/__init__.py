"""Models that are fitted to every group; one module for each."""
