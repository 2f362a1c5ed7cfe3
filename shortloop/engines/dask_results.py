"""Results of Dask's tasks, fetched side by side: one that its worker does not give holds up no other."""

from __future__ import annotations

import asyncio
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import distributed

if TYPE_CHECKING:
    Future = distributed.Future[Any]

PATIENCE = 5.0  # s that the scheduler may take for a result, the first time that it is asked
AT_A_TIME = 16  # results that are fetched, or wait to be taken


class Results:
    """What came of each task: its result, or an exception."""

    def __init__(self, client: distributed.Client) -> None:
        self._client: Any = client
        self._came: SimpleQueue[tuple[Future, object]] = SimpleQueue()
        self._slots = asyncio.Semaphore(AT_A_TIME)

    def add(self, future: Future) -> None:
        self._client.loop.add_callback(self._follow, future)

    def has_ready(self) -> bool:
        return not self._came.empty()

    def next(self, seconds: float) -> tuple[Future, object] | None:
        """Return the next task and its result; None if there is none within so many seconds."""
        try:
            future, result = self._came.get(timeout=seconds)
        except Empty:
            return None
        if not isinstance(result, BaseException):
            self._client.loop.add_callback(self._slots.release)
        return future, result

    async def _follow(self, future: Future) -> None:
        try:
            result = await self._result(future)
        except BaseException as error:
            result = error
        self._came.put((future, result))

    async def _result(self, future: Future) -> object:
        """Wait for a task, and ask for its result until it comes; then a slot is taken.

        Its worker may be stopped or gone. The scheduler would go on asking that for minutes; asked again, it
        asks another one, which may have computed the task meanwhile. A client's own `gather` asks for results
        together, so that all of them would wait.
        """
        seconds = PATIENCE
        while True:
            await distributed.wait([future])
            if future.status == "error":
                return await future.exception()
            await self._slots.acquire()
            answer: Any = {}
            try:
                async with asyncio.timeout(seconds):
                    answer = await self._client.scheduler.gather(keys=[future.key])
            except TimeoutError:
                seconds *= 2
            finally:
                if answer.get("status") != "OK":
                    self._slots.release()
            if answer.get("status") == "OK":
                return answer["data"][future.key]
            await asyncio.sleep(seconds / PATIENCE)
