"""Prepare exax's processes when they start: apply its patches, of which small ones are here.

exax makes its sockets open to everybody, in a folder that the group may enter.

Made for exax 2025.11.11. Upstream: all but `board_later` mend faults of exax, and could go there as they
are: patterns in folders' names, ends of lines, locks, `multiprocessing`'s folder, sockets for their user.
"""

from __future__ import annotations

import atexit
import functools
import gc
import glob
import multiprocessing
import os
import shutil
import socket
import stat
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterable
from multiprocessing.process import current_process
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.text import one_line
from shortloop.exax.listener import OWN_COPY, peer
from shortloop.exax.patches import patch
from shortloop.project.project import project_directory, running_configuration, runs_jobs

KNOWN_VERSION = "2025.11.11"  # of exax that the patches were tried with; pyproject.toml requires it
SOCKET_PATH_LIMIT = 107  # of Linux; an address longer than that cannot be bound
BOARD_AFTER = 2.0  # s; a run that builds nothing has ended by then
FEW = 2_000  # jobs; to start processes that read them takes longer than to read them
OTHERS = stat.S_IRWXG | stat.S_IRWXO
LOOK_EVERY, LOOK_FOR = 0.05, 60.0  # s; exax's other servers open theirs while this one starts
GARBAGE = 100_000  # objects between a run's garbage collections: with 700, these are a tenth of a short run


def prepare_any() -> None:
    """Patch any process of exax that imports a package of methods."""
    take_folders_literally()
    if running_configuration("build") is not None:
        gc.set_threshold(GARBAGE)
        keep_line_ends()


def prepare_server() -> None:
    """Patch the exax server, and complete its configuration; in other processes nothing."""
    if (cfg := running_configuration("server")) is None:
        return
    refuse_unknown_version()
    from shortloop.exax import datasets, notebook_methods
    from shortloop.exax.patches import job_monitor, method_loading, parallel_jobs
    from shortloop.store.crash_repair import mend, own, repair_lists
    from shortloop.store.setup import wanted

    cfg.slices = wanted(cfg.slices)
    workdirs = {name: Path(folder) for name, folder in cfg.workdirs.items()}
    # A new folder in the project may be a package: the first results would have methods loaded anew.
    for folder in (*workdirs.values(), Path(cfg.result_directory)):
        folder.mkdir(parents=True, exist_ok=True)
    method_loading.keep_methods_as_loaded()
    method_loading.do_without_broken_methods()
    parallel_jobs.build_side_by_side()
    one_at_a_time()
    read_few_jobs_itself()
    job_monitor.look_often_for_end()
    parallel_jobs.reap_later()
    notebook_methods.load_announced()
    datasets.forget_other_slices(cfg.slices)
    own(workdirs)
    answer_this_user_only()
    leave_nothing_behind(private_folder() / "multiprocessing")
    listens = (cfg.listen, cfg.urd_listen if cfg.urd_local else None, cfg.board_listen)
    keep_private(project_directory() / each for each in listens if isinstance(each, str))
    mend(workdirs)  # of jobs that a power cut broke, with which it would not start
    for line in repair_lists(Path.cwd()):  # too late for this server, but not for the next
        print(one_line(f"{line}; start the server again"), flush=True)
    for folder in workdirs.values():  # what depends on it is checked job by job
        (folder / ".slices").write_text(f"{cfg.slices}\n", encoding="utf-8")


def prepare_runner() -> None:
    """Patch the process that loads methods and forks jobs; in other processes nothing."""
    if not runs_jobs():
        return
    refuse_unknown_version()
    from shortloop.exax import cost, datasets, libraries, notebook_methods, tracebacks
    from shortloop.exax.patches import job_monitor, loading, method_loading, parallel_jobs, preload, watch
    from shortloop.units.process_ends import forks_end_with_this

    loading.load_from_source()
    libraries.watch_imports()
    keep_line_ends()
    job_monitor.keep_output_in_one_process()
    reading = method_loading.note_what_is_read()
    notebook_methods.find_announced()
    forks_end_with_this()
    spares = parallel_jobs.keep_spares()
    job_monitor.watch_job_ends(spares)
    job_monitor.name_lost_units()
    cost.note_costs()
    tracebacks.keep_causes()
    parallel_jobs.leave_early()
    preload.import_before_forks()
    method_loading.import_methods_apart(reading)
    watch.watch_jobs(spares)
    datasets.refuse_other_slices()


def end_quickly() -> None:
    """Let this process end without a garbage collection, a tenth of a run that builds nothing."""
    atexit.register(gc.freeze)


def refuse_unknown_version() -> None:
    import accelerator

    if (version := getattr(accelerator, "__version__", None)) != KNOWN_VERSION:
        problem = "unknown version of exax (the package accelerator), whose server Shortloop patches"
        hint = f"pip install 'accelerator=={KNOWN_VERSION}', or a Shortloop made for your version"
        raise InputError(problem, found=version or "no version", expected=KNOWN_VERSION, hint=hint)


def board_later() -> None:
    """Let the server start the board, whose imports would take a core from the run, a moment later."""
    from accelerator import board

    @patch(board, "run")
    def run(original: Any, *arguments: Any) -> None:  # in a process of its own
        time.sleep(BOARD_AFTER)
        original(*arguments)


def take_folders_literally() -> None:
    """Let exax, as far as it is loaded, work in folders like ``paper [v2]``, which it takes for patterns."""
    for name, depth in (("methods", 1), ("shell.script", 1), ("urd", 2)):
        module: Any = sys.modules.get(f"accelerator.{name}")
        if module is not None:
            module.glob = functools.partial(_below, depth)


def _below(depth: int, pattern: str) -> list[str]:
    folder, *names = pattern.rsplit("/", depth)
    return glob.glob("/".join([glob.escape(folder), *names]))


def keep_line_ends() -> None:
    """Have exax's pseudo-terminals pass on LF, not CR LF: the terminal behind them, if any, does that."""
    from accelerator import iowrapper

    @patch(iowrapper, "openpty")
    def openpty(original: Any) -> tuple[int, int]:
        ours, theirs = original()
        modes = termios.tcgetattr(theirs)
        modes[1] &= ~termios.ONLCR
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        return ours, theirs


def read_few_jobs_itself() -> None:
    """Let the server start processes that read new jobs only if there are many."""
    from accelerator import control

    def get_context(method: str) -> Any:
        return SimpleNamespace(Pool=functools.partial(_LazyPool, method))

    control.multiprocessing = SimpleNamespace(get_context=get_context)


def one_at_a_time() -> None:
    """Let the server, which answers many clients at once, do one after the other what needs that."""
    from accelerator.control import Main
    from accelerator.workspace import WorkSpace

    # Two that have it load the methods would end each other's, and a job that starts meanwhile would be
    # forked by a process without its method. A job's folder made while the workdir is listed would be
    # forgotten, and its id given once more.
    loading, listing = threading.Lock(), threading.Lock()

    def within(lock: threading.Lock, original: Any, *arguments: Any, **more: Any) -> Any:
        with lock:
            return original(*arguments, **more)

    @patch(Main, "run_job")
    def run_job(original: Any, *arguments: Any, **more: Any) -> Any:
        with loading:  # not for as long as it runs: that it can be cut off is another matter
            pass
        return original(*arguments, **more)

    patch(Main, "update_methods")(functools.partial(within, loading))
    for name in ("update", "allocate_jobs"):
        patch(WorkSpace, name)(functools.partial(within, listing))


def leave_nothing_behind(folder: Path) -> None:
    """Keep multiprocessing's socket, which no server cleans up, in a folder that each one empties."""
    shutil.rmtree(folder, ignore_errors=True)
    if len(os.fsencode(folder.resolve() / "listener-12345678")) <= SOCKET_PATH_LIMIT:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        current_process()._config["tempdir"] = str(folder.resolve())  # type: ignore[attr-defined]


class _LazyPool:
    def __init__(self, method: str, **more: Any) -> None:
        self._start = functools.cache(functools.partial(multiprocessing.get_context(method).Pool, **more))

    def imap(self, function: Callable[[Any], Any], items: Iterable[Any], chunksize: int) -> Iterable[Any]:
        items = list(items)
        return map(function, items) if len(items) <= FEW else self._start().imap(function, items, chunksize)

    imap_unordered = imap

    def close(self) -> None:
        if self._start.cache_info().currsize:
            self._start().close()


def private_folder() -> Path:
    """Return the folder of the project for what a server needs while it runs, of this user alone."""
    folder = project_directory() / ".socket.dir"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _close(folder):
        problem = "the folder of the exax server's sockets belongs to another user"
        found = f"user {folder.stat().st_uid}"
        raise InputError(problem, file=folder, found=found, expected=f"user {os.geteuid()}", hint=OWN_COPY)
    return folder


def keep_private(sockets: Iterable[Path]) -> None:
    """Close sockets and other files of a server to others, also those that it has yet to make."""
    folder = private_folder()
    files = [*sockets, *(folder / name for name in ("multiprocessing", "server.log"))]

    def close() -> None:
        end = time.monotonic() + LOOK_FOR
        while time.monotonic() < end:
            for file in [*files, *folder.glob("multiprocessing/*")]:
                _close(file)
            time.sleep(LOOK_EVERY)

    threading.Thread(target=close, daemon=True).start()


def answer_this_user_only() -> None:
    """Let the server refuse others, who may have connected before its socket was closed to them."""
    from accelerator.web import ThreadedUnixHTTPServer

    def is_this_user(self: Any, request: socket.socket, address: object) -> bool:
        return peer(request)[1] in (os.geteuid(), 0)

    ThreadedUnixHTTPServer.verify_request = is_this_user


def _close(file: Path) -> bool:
    """Take a file's or folder's access from others; False if that is not possible."""
    try:
        mode = file.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            file.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except FileNotFoundError:  # not there yet, or not any more
        return True
    except OSError:
        return False
    return True
