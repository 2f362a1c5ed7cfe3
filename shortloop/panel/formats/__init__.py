"""Where a panel comes from: files, datasets, or a simulation; one module for each."""
