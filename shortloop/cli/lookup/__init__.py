"""Commands that look up jobs and runs, and change nothing."""
