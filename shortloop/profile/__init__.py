"""Where the time and memory of jobs and runs go."""
