"""joblib: pandas in its threads, or in its processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shortloop.frames.runners.pandas_parts import OfParts, of_part, one_thread
from shortloop.frames.work import Work

__all__ = ["RUNNER", "JoblibParts"]


class JoblibParts(OfParts):
    """Workers that are kept."""

    def start(self) -> None:
        """As of `Runner`."""
        import joblib

        one_thread()
        backend = "threading" if self.work.library == "joblib-threads" else "loky"
        self._parallel = joblib.Parallel(self.work.workers, backend=backend, batch_size=1)
        self._parallel.__enter__()

    def parts(self, transformation: str, parts: Sequence[int]) -> list[Any]:
        """As of `OfParts`."""
        import joblib

        return list(
            self._parallel(joblib.delayed(_of_part)(self.work, transformation, part) for part in parts)
        )

    def close(self) -> None:
        """As of `Runner`."""
        from joblib.externals.loky import get_reusable_executor

        self._parallel.__exit__(None, None, None)
        if self.work.library == "joblib-processes":
            get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _of_part(work: Work, transformation: str, part: int) -> Any:
    if work.library == "joblib-processes":
        one_thread()
    return of_part(work, transformation, part)


RUNNER = JoblibParts
