"""The commits that are compared: fresh clones with environments of their own, of which nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.options import Options
from benchmarks.project import BINARIES, ROOT, Project, end, user_environment
from shortloop.frames.measure import cpu_seconds

LOOKED = 0.25  # s between looks at what is still at work
HARDLY = 0.02  # processor seconds in that time: nothing is
PATIENCE = 60.0


@dataclass(frozen=True)
class Side:
    """A commit, and its project."""

    name: str
    source: Path
    project: Project  # the clone itself
    caches: Path | None  # of its processes, such as for machine code; None: the user's

    def forget_machine_code(self) -> None:
        """Delete what numba compiled, wherever a version keeps it."""
        if self.caches is not None:
            shutil.rmtree(self.caches, ignore_errors=True)
        for kind in ("*.nbi", "*.nbc"):
            for file in (self.source / "shortloop").rglob(kind):
                file.unlink()

    def knows(self, word: str) -> bool:
        """True if a module of its library has this word."""
        files = (self.source / "shortloop").rglob("*.py")
        return any(word in file.read_text(encoding="utf-8") for file in files)


@contextmanager
def sides(options: Options) -> Iterator[tuple[Path, list[Side]]]:
    """Clone and set up the commits, HEAD last; at the end, end their processes and delete all."""
    commits = {f"HEAD {commit_of('HEAD')}": commit_of("HEAD")}
    if options.against:
        commits = {commit_of(options.against): commit_of(options.against), **commits}
    changed = ["git", "status", "--porcelain", "--untracked-files=no"]
    if subprocess.run(changed, cwd=ROOT, capture_output=True, check=False).stdout:
        print("  HEAD is measured without the changes that are not committed: commit them first", flush=True)
    before = signal.signal(signal.SIGTERM, _ended)
    # The path of a server's socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="sl-")).resolve()
    try:
        yield (
            folder,
            [
                _side(folder, at, name, commit, options.quick)
                for at, (name, commit) in enumerate(commits.items())
            ],
        )
    finally:
        # A second Ctrl-C would leave gigabytes.
        print("  deleting the clones …", flush=True)
        signals = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)}
        _delete(folder)
        for each, handler in {**signals, signal.SIGTERM: before}.items():
            signal.signal(each, handler)


def commit_of(name: str) -> str:
    """The abbreviated hash of a commit."""
    asked = ["git", "rev-parse", "--verify", "--quiet", "--short=7", f"{name}^{{commit}}"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise SystemExit(f"AGAINST: no commit {name} in this checkout; `git fetch` it, or name another")
    return found.stdout.strip()


def processes_in(folder: Path) -> list[int]:
    """Processes that work in a folder or below it."""
    found = []
    for process in os.listdir("/proc"):
        if process.isdigit() and int(process) != os.getpid():
            with suppress(OSError):  # it has ended, or is another user's
                if Path(os.readlink(f"/proc/{process}/cwd")).is_relative_to(folder):
                    found.append(int(process))
    return found


def settle(folder: Path) -> None:
    """Wait until the processes in a folder have nothing more to do, as after a start."""
    deadline = time.monotonic() + PATIENCE
    before = {process: cpu_seconds(process) for process in processes_in(folder)}
    while time.monotonic() < deadline:
        time.sleep(LOOKED)
        now = {process: cpu_seconds(process) for process in processes_in(folder)}
        if now.keys() == before.keys() and sum(now.values()) - sum(before.values()) < HARDLY:
            return
        before = now


def _delete(folder: Path) -> None:
    """End all that works in a folder, also what left its session, and delete it."""
    while left := processes_in(folder):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)


def _side(folder: Path, number: int, name: str, commit: str, quick: bool) -> Side:
    clone, caches = folder / str(number), None if quick else folder / f"caches-{number}"
    print(f"  {name}: clone{'' if quick else ' and make setup'} …", flush=True)
    _do(folder, "git", "clone", "--quiet", "--no-checkout", str(ROOT), str(clone))
    _do(clone, "git", "checkout", "--quiet", commit)
    variables = {"PYTHONPATH": str(clone)}
    if caches is not None:
        _do(clone, "make", "setup", f"PYTHON={Path(sys.base_prefix) / 'bin' / 'python3'}")
        # Fonts are listed once for both: that is matplotlib's time.
        fonts = {"MPLCONFIGDIR": str(folder / "matplotlib"), "NUMBA_CACHE_DIR": ""}
        variables |= {"XDG_CACHE_HOME": str(caches), **fonts}
    binaries = BINARIES if quick else clone / ".venv" / "bin"
    return Side(name, clone, Project(clone, binaries, **variables), caches)


def _do(folder: Path, *command: str) -> None:
    """Run a command that ends with this process."""
    told = {k: v for k, v in user_environment().items() if not k.startswith(("MAKE", "MFLAGS", "GIT_"))}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=folder, env=told, stdout=log, stderr=log, start_new_session=True
        )
        try:
            status = process.wait()
        except BaseException:
            end(process)
            raise
        if status != 0:
            log.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {log.read()[-2000:].decode(errors='replace')}")


def _ended(*signalled: Any) -> NoReturn:
    raise SystemExit(143)
