"""Start a run's engine process when a job is built and jobs with units follow; end it with the run."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from shortloop.base.plain import Plain
from shortloop.base.text import one_line
from shortloop.keys.own_code import ROOT
from shortloop.project.project import project_directory
from shortloop.settings.engine import NAMES, EngineSettings
from shortloop.stages.threads import VARIABLES
from shortloop.units.messages import HERE, SLICES, AskedOfEngine, EngineNote, engine_folder, note_file
from shortloop.units.process_ends import ends_with_this

PATIENCE = 20.0  # s that an engine may take to end
LOOK_EVERY = 0.05  # s


class RunningEngine(contextlib.AbstractContextManager["RunningEngine"]):
    """The engine of a run; `workers` unless the settings set a number, `prefix` a profiler's command."""

    def __init__(self, settings: EngineSettings, workers: int, prefix: Sequence[str] = ()) -> None:
        self.settings = settings
        self._prefix = prefix
        self.is_apart = settings.name != SLICES  # units are not computed by processes of their job
        self._workers = workers
        self._process: subprocess.Popen[str] | None = None
        with contextlib.suppress(OSError):  # of a run that was killed
            note_file().unlink(missing_ok=True)

    def start(self) -> None:
        if self._process is not None:
            return
        name, address = self.settings.name, self.settings.address
        here = f"at {HERE}, " if name in NAMES else ""
        where = f"at {address}" if address else f"{here}which takes some seconds to start"
        print(one_line(f"units are computed by {name}, {where}"), flush=True)
        self._folder = tempfile.mkdtemp(prefix="shortloop-")
        cache = engine_folder()
        for left in cache.glob("here-*"):  # by a run that was killed
            left.unlink(missing_ok=True)
        # A name that nobody has looked for yet: file systems that are shared may remember what was not there.
        self._here = cache / f"here-{secrets.token_hex(8)}"
        self._here.write_text(text := secrets.token_hex(), encoding="ascii")
        heard, say = os.pipe()
        address, secret = f"{self._folder}/engine", secrets.token_hex()
        order = [self.settings.plain(), self._workers, address, secret, say]
        with (cache / "engine.log").open("wb") as stream:
            self._process = subprocess.Popen(
                [*self._prefix, sys.executable, "-P", "-m", "shortloop.engines.engine_process"],
                cwd=project_directory(),
                env=environment(TMPDIR=self._folder),
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=ends_with_this(),
                pass_fds=[say],
                text=True,
            )
        os.close(say)
        # The output of exax while it builds a job is captured; this is shown.
        threading.Thread(target=_pass_on, args=(heard, sys.stdout), daemon=True).start()
        with contextlib.suppress(OSError):  # it has ended: the job will say so
            print(json.dumps(order), file=self._process.stdin, flush=True)
        self._note: EngineNote = {
            "pid": os.getpid(),
            "process": self._process.pid,
            "address": address,
            "secret": secret,
            "name": self.settings.name,
            "other_kernels": self.settings.other_kernels,
            "when_silent": self.settings.when_silent,
            "jobs": {},
            "log": str(cache / "engine.log"),
            "here": [str(self._here), text],
        }

    def announce(
        self, job: str, asked: Mapping[str, Plain], seconds: Callable[[], float | None] = lambda: None
    ) -> None:
        """Announce a job with units; the engine is started if it is not running."""
        self.start()
        entry: AskedOfEngine = {"asked": dict(asked), "seconds": seconds()}
        if (file := note_file()).is_file() and self._note["jobs"].get(job) == entry:
            return
        self._note["jobs"][job] = entry
        part = file.with_name(f".{file.name}.{os.getpid()}")
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # it has the secret
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(self._note))
        part.replace(file)

    def wait(self) -> None:
        """Wait until the engine answers, or has ended, which its jobs say."""
        while self._process is not None and self._process.poll() is None:
            if os.path.exists(self._note["address"]):
                break
            time.sleep(LOOK_EVERY)

    def __exit__(self, *error: object) -> None:
        if self._process is None:
            return
        with contextlib.suppress(OSError):
            note_file().unlink(missing_ok=True)
            self._here.unlink(missing_ok=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=PATIENCE)  # its standard input ends
        with contextlib.suppress(ProcessLookupError):  # what is left of its session
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._process = None


def environment(of: Mapping[str, str] = os.environ, **more: str) -> dict[str, str]:
    """The environment of a process that computes: this package is found, and libraries have one thread."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**of, **dict.fromkeys(VARIABLES, "1"), "PYTHONPATH": path, **more}


def _pass_on(heard: int, output: TextIO) -> None:
    with open(heard, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            print(one_line(line.rstrip("\n")), file=output, flush=True)
