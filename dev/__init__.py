"""What is still being designed: methods and build scripts beside the main pipeline."""

from shortloop.jobs.threads import set_single_thread

set_single_thread()
