"""Study files: participants, phases, classes, and the settings of each step, in TOML."""
