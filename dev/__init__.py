"""What is still being designed: methods and build scripts beside the main pipeline."""

from shortloop.jobs.exax.loading import load_from_source

load_from_source(__name__)  # before anything else is loaded

from shortloop.worker.threads import set_single_thread  # noqa: E402

set_single_thread()

from shortloop.jobs.exax.datasets import prepare_script  # noqa: E402

prepare_script()
