"""Interface to exax, which executes jobs; ``patches/`` holds its patches."""
