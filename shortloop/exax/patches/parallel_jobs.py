"""Let one client of the exax server build several jobs at a time, with its own job numbers.

exax builds one job at a time because each client holds one lock, by its cookie. Here a client has a cookie
for each running job. To everybody else the server is busy until the last of them has ended.

Made for exax 2025.11.11. Upstream: `job_tracking` could count the jobs of a client in place of one lock,
and `submit` could take a job number.
"""

from __future__ import annotations

import os
import threading
from threading import Lock, Thread
from typing import Any

from shortloop.exax.patches import patch
from shortloop.exax.patches.spare_processes import send_lanes

LANE = "shortloop-"
"""What a cookie begins with."""
NUMBER = "shortloop_number"
"""Field of a submission: the number that its job is to have."""
FOLLOWED = "shortloop_followed"
"""Field of a submission: whether more jobs of its method come next."""
RESERVE = "shortloop_reserve"
"""Request for consecutive job numbers, in place of all reserved before."""
MOMENT = 0.25  # s; a status request holds the lock for less
_chosen = threading.local()


def build_side_by_side() -> None:
    from accelerator import server
    from accelerator.control import Main
    from accelerator.workspace import WorkSpace

    if isinstance(server.job_tracking, _Lanes):
        return
    server.job_tracking = _Lanes(server.job_tracking)
    server.Thread = _JobThread
    reserved: dict[str, int] = {}  # the first number after those reserved, by workdir

    @patch(Main, "initialise_jobs")
    def initialise_jobs(original: Any, main: Any, setup: Any, workdir: Any = None) -> Any:
        _chosen.number, _chosen.is_followed = setup.pop(NUMBER, None), setup.pop(FOLLOWED, False)
        return original(main, setup, workdir)

    @patch(WorkSpace, "allocate_jobs")
    def allocate_jobs(allocate: Any, workspace: Any, count: int) -> Any:
        from accelerator.job import Job

        number, _chosen.number = getattr(_chosen, "number", None), None
        highest = workspace._get_highest_jobnumber
        try:
            if number is not None and count == 1:
                job = Job._create(workspace.name, number)
                if job not in workspace.known_jobids and not os.path.exists(f"{workspace.path}/{job}"):
                    workspace._get_highest_jobnumber = lambda: number - 1
                    return allocate(workspace, count)
            after = max(highest() + 1, reserved.get(workspace.name, 0))
            workspace._get_highest_jobnumber = lambda: after - 1
            return allocate(workspace, count)
        finally:
            del workspace._get_highest_jobnumber

    @patch(server.XtdHandler, "_handle_req")
    def handle_request(original: Any, handler: Any, path: Any, args: Any) -> None:
        if path != [RESERVE]:
            original(handler, path, args)
            return
        workspace = handler.ctrl.workspaces[args["workdir"]]
        first = workspace._get_highest_jobnumber() + 1
        reserved[workspace.name] = first + int(args["count"])
        handler.do_response(200, "text/json", {"first": first})

    send_lanes(lambda: getattr(_chosen, "is_followed", False))


class _Lanes(dict[Any, Any]):
    """exax's table of clients by cookie. Lanes are added as they are named."""

    def __init__(self, tracking: Any) -> None:
        super().__init__(tracking)
        self._shared = _Shared(self[None].lock)

    def get(self, cookie: Any, default: Any = None) -> Any:
        if cookie is not None and cookie not in self and str(cookie).startswith(LANE):
            lock = _LaneLock(self._shared)
            self[cookie] = type(self[None])(self[None], lock=lock, last_error=None, last_time=0)
        return super().get(cookie, default)

    def __len__(self) -> int:
        """As many as exax would have for the mean depth of builds within jobs, which it limits."""
        lanes = sum(str(cookie).startswith(LANE) for cookie in tuple(self.keys()))
        return 1 + (super().__len__() - 1 - lanes) // max(self._shared.busy, 1)


class _Shared:
    """The lock of clients without a lane, held while any lane is busy."""

    def __init__(self, lock: Any) -> None:
        self.lock, self.guard, self.busy = lock, Lock(), 0

    def enter(self) -> bool:
        with self.guard:
            if not self.busy and not self.lock.acquire(timeout=MOMENT):
                return False
            self.busy += 1
            return True

    def leave(self) -> None:
        with self.guard:
            self.busy -= 1
            if not self.busy:
                self.lock.release()


class _LaneLock:
    def __init__(self, shared: _Shared) -> None:
        self._shared, self._own = shared, Lock()

    def acquire(self, blocking: bool = True) -> bool:
        if not self._own.acquire(blocking):
            return False
        if self._shared.enter():
            return True
        self._own.release()
        return False

    def release(self) -> None:
        self._own.release()
        self._shared.leave()


class _JobThread(Thread):
    """exax answers after two seconds that a job goes on, and then looks for its end ten times a second."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._is_followed = getattr(_chosen, "is_followed", False)

    def run(self) -> None:
        _chosen.is_followed = self._is_followed
        super().run()

    def join(self, timeout: float | None = None) -> None:
        super().join(None if self.name == "job runner" else timeout)
