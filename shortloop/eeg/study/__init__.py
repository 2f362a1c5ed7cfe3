"""What a study is: participants, phases, classes, and the settings of each step; read from TOML."""
