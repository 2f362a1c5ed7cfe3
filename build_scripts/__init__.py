"""Jobs and their order."""

import shortloop.prepare  # noqa: F401  scripts that are just edited run as they are, with the server's slices
