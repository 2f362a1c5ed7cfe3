"""Which jobs, in which order."""

import shortloop.prepare  # noqa: F401  a script that was just edited runs as it is
