"""Prepare exax's processes for jobs; importing this package is enough.

It is the first of ``method packages`` in accelerator.conf, so the server, and the process that forks jobs,
import it before anything else. The packages of build scripts import it too: a script just edited then runs as
it is, with as many slices as the server.
"""

from shortloop.exax.patches.loading import load_from_source

load_from_source()  # before anything else is loaded

from shortloop.stages.threads import set_single_thread  # noqa: E402

set_single_thread()  # before NumPy is

from shortloop.exax.datasets import prepare_script  # noqa: E402
from shortloop.exax.patches.processes import (  # noqa: E402
    end_quickly,
    prepare_any,
    prepare_runner,
    prepare_server,
)

prepare_any()
prepare_server()
prepare_runner()
prepare_script()
end_quickly()
