"""What is still being designed: methods and build scripts beside the main pipeline."""

import shortloop.prepare  # noqa: F401  scripts that are just edited run as they are, with the server's slices
