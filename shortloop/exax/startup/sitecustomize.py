"""Start-up hook of Python programs that a job starts: monitors them like the job."""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

with contextlib.suppress(ImportError):  # another Python, perhaps without this package
    from shortloop.exax.patches.watch import watch_program

    watch_program()

# The one that this one hides.
_others = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
_spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _others)
if _spec is not None and _spec.loader is not None:
    sys.modules["sitecustomize"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["sitecustomize"])
