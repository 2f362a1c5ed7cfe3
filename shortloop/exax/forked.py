"""Run exax's commands in forks of this process, which has already imported exax."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from shortloop.exax.patches.loading import forget_modules
from shortloop.exax.tracebacks import user_traceback
from shortloop.project.project import import_from_project
from shortloop.project.system_errors import FULL
from shortloop.units.process_ends import ends_with_this

PACKAGE = __name__.partition(".")[0]
LOOK_EVERY = 0.005  # s
ENDING = {signal.SIGINT, signal.SIGTERM}


class Forked:
    """A fork of this process that does some work, and is asked to end when this one has ended."""

    def __init__(self, work: Callable[[], None], keep: Sequence[int] = ()) -> None:  # files that stay open
        self._status: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        follow = ends_with_this()
        # Those wait until it knows what to do with them.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        self.pid = os.fork()
        if not self.pid:
            follow()
            _work(work, keep)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def poll(self, options: int = os.WNOHANG) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        if self._status is None:
            ended, status = os.waitpid(self.pid, options)
            if ended:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self) -> int:
        while (status := self.poll(0)) is None:
            pass
        return status

    def ends_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
        return self.poll() is not None

    @contextlib.contextmanager
    def passing_signals_on(self) -> Iterator[None]:
        """Pass signals that end this process on to the fork within the block, and wait for its end."""
        before = signal.getsignal(signal.SIGINT)  # a terminal sends it to both, others to this process alone

        def interrupt(number: int, frame: object) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)  # `poll` might take the status from a wait that goes on below
            if callable(before):
                before(number, None)

        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        except SystemExit:
            self.signal(signal.SIGTERM)
            self.wait()
            raise
        finally:
            signal.signal(signal.SIGINT, before)

    def signal(self, number: int, group: bool = False) -> None:
        """Send a signal to it, or to its process group, of which it must be the leader."""
        if self.poll() is None:
            (os.killpg if group else os.kill)(self.pid, number)


def fork_ax(
    arguments: Sequence[str],
    environ: Mapping[str, str] | None = None,
    before: Callable[[], None] = lambda: None,
    keep: Sequence[int] = (),
) -> Forked:
    """Run one of exax's commands in a fork, as if ``ax`` was called."""
    import accelerator.shell  # here, and not in each fork
    from accelerator.compat import setproctitle

    def work() -> None:
        setproctitle(" ".join(["ax", *arguments]))
        os.environ.update(environ or {})
        import_from_project()
        # The project may have another one of this package, or newer sources.
        forget_modules({name for name in sys.modules if f"{name}.".startswith(f"{PACKAGE}.")})
        before()
        sys.argv[:] = ["ax", *arguments]
        sys.exit(accelerator.shell.main())

    return Forked(work, keep)


@contextlib.contextmanager
def noting_interrupts() -> Iterator[list[int]]:
    """Leave Ctrl-C to a fork, which it also reaches, and which ends its job and itself; note it here."""
    noted: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, frame: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def leave(status: int) -> NoReturn:
    """End this process like Python, without the slow teardown of its memory."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError):  # nobody reads it
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        os._exit(status)


def _work(work: Callable[[], None], keep: Sequence[int]) -> None:
    """Run in a fork until it ends; it never returns to the code of its parent."""
    status = 1
    try:
        atexit._clear()
        close_inherited({0, 1, 2, *keep})
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        work()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        if getattr(error, "errno", None) in FULL:  # why it could not go on has been said; this is of exax
            print(error, file=sys.stderr)
        else:
            print(user_traceback(error), file=sys.stderr)
    finally:
        leave(status)


def close_inherited(keep: set[int]) -> None:
    """Close files of the parent in a fork; their numbers stay taken, so that nothing else gets them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number not in keep and number != nothing:
            with contextlib.suppress(OSError):  # that of the list is not open any more
                os.fstat(number)
                os.dup2(nothing, number, inheritable=False)
    os.close(nothing)
