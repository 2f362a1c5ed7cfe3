"""The engine of a run: its process is started when there is something to build, and ends with the run."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TextIO

from shortloop.engines.calling import called, packed
from shortloop.engines.messages import HERE, SLICES, Coming, EngineNote, JobWork, Later, Order, Work
from shortloop.engines.note import early_results, note_file
from shortloop.engines.spool import clear_old
from shortloop.errors import InputError
from shortloop.jobs.exax.parent_death import ends_with_this
from shortloop.jobs.keys.own_code import ROOT
from shortloop.jobs.project import cache_directory, project_directory
from shortloop.plain import Plain
from shortloop.settings.engine import EngineSettings
from shortloop.text import one_line
from shortloop.worker.threads import VARIABLES

__all__ = ["RunningEngine", "forget_early_results", "running_engine"]

PATIENCE = 20.0  # s that an engine may take to end
HERE_FILE = "here-"


class RunningEngine:
    """The engine of a run.

    Parameters
    ----------
    settings : EngineSettings
        Which one.
    workers : int
        How many to start, if the settings say nothing.
    """

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        self._settings = settings
        self._workers = workers
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._note: EngineNote | None = None
        self._has_said = False
        self._to_say: SimpleQueue[Coming | None] = SimpleQueue()
        self._here = Path()

    def announce(self, seconds: Callable[[], float | None] = lambda: None) -> None:
        """Say that a job comes next, which may need the engine: it is started if it is not there.

        Parameters
        ----------
        seconds : callable
            Says how long this machine would take for the job, as far as is known.
        """
        if self._settings.name == SLICES:
            return
        asked = _asked_of_joblib() if self._settings.name == "joblib" else {}
        if self._process is None:
            where = self._settings.address or f"{HERE}, which takes some seconds to start"
            print(one_line(f"units are computed by {self._settings.name}, at {where}"), flush=True)
            self._start()
        assert self._note is not None
        said = {"asked": asked, "seconds": seconds()}
        if not note_file().is_file() or any(self._note.get(name) != each for name, each in said.items()):
            self._note |= said  # type: ignore[typeddict-item]
            _write_privately(note_file(), json.dumps(self._note))

    @property
    def is_there(self) -> bool:
        """Whether it was started."""
        return self._process is not None

    def packed(self, work: JobWork) -> Work:
        """The work of a job, to be sent; see `shortloop.engines.calling.packed`."""
        assert self._note is not None
        return packed(work, self._note["here"])

    def coming(self, is_next: bool, later: list[Later], over: list[str]) -> None:
        """Say which jobs come later; what they are made from is there.

        Parameters
        ----------
        is_next : bool
            Whether the job that begins now is likely to ask for its units.
        later : list of Later
            Those that it was not told of yet.
        over : list of str
            What jobs compute that it was told of, and whose turn is over.
        """
        assert self._note is not None
        # That the first job asks is not said: it may have asked before this is heard.
        said = None if is_next and not self._has_said else is_next
        self._to_say.put({"is_next": said, "coming": later, "over": over, "asked": self._note["asked"]})
        self._has_said = True

    def close(self) -> None:
        """End it."""
        if self._process is None:
            return
        self._to_say.put(None)
        with contextlib.suppress(OSError):
            note_file().unlink(missing_ok=True)
            self._here.unlink(missing_ok=True)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        with contextlib.suppress(ProcessLookupError):  # what is left of its session
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._process = None

    def _start(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="shortloop-")
        log = cache_directory("engine") / "engine.log"
        for left in cache_directory("engine").glob(f"{HERE_FILE}*"):  # by a run that was killed
            left.unlink(missing_ok=True)
        # A name that nobody has looked for yet: file systems that are shared may remember what was not there.
        self._here = cache_directory("engine") / f"{HERE_FILE}{secrets.token_hex(8)}"
        self._here.write_text(text := secrets.token_hex(), encoding="ascii")
        heard, say = os.pipe()
        order: Order = {
            "settings": self._settings.plain(),
            "workers": self._workers,
            "address": f"{self._folder}/engine",
            "secret": secrets.token_hex(),
            "early": str(early_results()),
            "say": say,
        }
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        with log.open("wb") as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "shortloop.engines.host"],
                cwd=project_directory(),
                env={
                    **os.environ,
                    **dict.fromkeys(VARIABLES, "1"),
                    "PYTHONPATH": path,
                    "TMPDIR": self._folder,
                },
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=ends_with_this(),
                pass_fds=[say],
            )
        os.close(say)
        # What exax says while it builds a job is caught; this is to be seen.
        threading.Thread(target=_pass_on, args=(heard, sys.stdout), daemon=True).start()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended: the job will say so
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        self._note = {
            "run": os.getpid(),
            "process": self._process.pid,
            "address": order["address"],
            "secret": order["secret"],
            "name": self._settings.name,
            "other_kernels": self._settings.other_kernels,
            "asked": {},
            "log": str(log),
            "here": [str(self._here), text],
            "seconds": None,
        }
        threading.Thread(target=_say, args=(self._note, self._to_say), daemon=True).start()


@contextmanager
def running_engine(settings: EngineSettings, workers: int) -> Iterator[RunningEngine]:
    """The engine of a run, which ends with the block, however that ends.

    Parameters
    ----------
    settings, workers
        As of `RunningEngine`.

    Yields
    ------
    RunningEngine
    """
    engine = RunningEngine(settings, workers)
    with contextlib.suppress(OSError):  # of a run that was killed
        note_file().unlink(missing_ok=True)
    try:
        yield engine
    finally:
        engine.close()
    forget_early_results()


def forget_early_results() -> None:
    """Delete what was computed of jobs that have not begun."""
    if early_results().is_dir():
        clear_old(early_results(), all_of_them=True)


def _say(engine: EngineNote, to_say: SimpleQueue[Coming | None]) -> None:
    while (said := to_say.get()) is not None:
        with contextlib.suppress(InputError, OSError), called(engine) as host:  # jobs will say what is wrong
            host.send_bytes(pickle.dumps(said))


def _pass_on(heard: int, output: TextIO) -> None:
    """Print what the engine has to say to the one who has started the run."""
    with open(heard, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            print(one_line(line.rstrip("\n")), file=output, flush=True)


def _write_privately(file: Path, text: str) -> None:
    """Replace a file that nobody else may read, not even for a moment."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    part.replace(file)


def _asked_of_joblib() -> dict[str, Plain]:
    """What `joblib.parallel_config` says in this thread."""
    joblib = sys.modules.get("joblib.parallel")
    if joblib is None:  # so nobody has said anything
        return {}
    backend, n_jobs = joblib.get_active_backend()
    name = next((each for each, kind in joblib.BACKENDS.items() if type(backend) is kind), "another one")
    if backend.nesting_level is None and n_jobs is None:  # as it is before anybody says something
        return {}
    return {"backend": name, "n_jobs": None if n_jobs is None else backend.effective_n_jobs(n_jobs)}
