"""What a study is: participants, phases, classes, files, settings; read from TOML, validated, typed."""
