"""Which jobs, in which order."""

from shortloop.jobs.threads import set_single_thread

set_single_thread()
