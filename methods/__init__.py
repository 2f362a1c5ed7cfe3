"""One exax job each: read inputs, call the library, write outputs."""

from shortloop.jobs.exax.loading import load_from_source

load_from_source(__name__)  # before anything else is loaded

from shortloop.worker.threads import set_single_thread  # noqa: E402

set_single_thread()  # exax imports this before any method imports NumPy

from shortloop.jobs.exax.datasets import prepare_script  # noqa: E402
from shortloop.jobs.exax.server import prepare_runner, prepare_server  # noqa: E402

prepare_server()
prepare_runner()
prepare_script()
