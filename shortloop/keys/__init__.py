"""Cache keys of jobs: code, options and content of inputs."""
