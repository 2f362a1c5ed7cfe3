"""pandas, file by file: on one core, and what others do with pandas in each of their workers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shortloop.frames.runners.base import Found, Runner
from shortloop.frames.work import ADDED, APPLY, COLUMN, KEY, Aggregates, X

if TYPE_CHECKING:
    import pandas as pd

    from shortloop.frames.work import Work
    from shortloop.types import FloatArray

__all__ = ["COUNT", "RUNNER", "OfParts", "PandasParts", "aggregates_of", "of_part", "one_thread"]

COUNT = "count"


def one_thread() -> None:
    """From now on, pyarrow reads files in the thread that asks; loaded once, for all forks to come."""
    import pandas as pd  # noqa: F401
    import pyarrow as pa
    import pyarrow.dataset
    import pyarrow.parquet

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def of_part(work: Work, transformation: str, part: int) -> pd.Series | pd.DataFrame:
    """Do the work with one file.

    Parameters
    ----------
    work : Work
        The table.
    transformation : str
        Which.
    part : int
        Number of the file.

    Returns
    -------
    Series or DataFrame
        The new column; or counts and sums by group.
    """
    import pandas as pd

    rng = work.generator(part)
    columns = [X] if transformation == COLUMN else None
    # Typing knows no keywords for the engine.
    frame = cast("Any", pd.read_parquet)(
        work.file(part), engine="pyarrow", columns=columns, use_threads=False
    )
    if transformation == APPLY:
        return frame.apply(lambda row: row[X] + ADDED + rng.random(), axis=1)
    if transformation == COLUMN:
        return frame[X] + ADDED + rng.random(len(frame))
    groups = frame.groupby(KEY)
    return groups.sum().assign(**{COUNT: groups.size()})


def aggregates_of(found: pd.DataFrame, work: Work) -> Aggregates:
    """Counts and sums as arrays.

    Parameters
    ----------
    found : DataFrame
        By key: the column `COUNT`, and those of the table.
    work : Work
        The table.

    Returns
    -------
    Aggregates
    """
    frame = found.reindex(range(work.groups), fill_value=0)
    return Aggregates(frame[COUNT].to_numpy(np.int64), frame[list(work.columns)].to_numpy(np.float64))


class OfParts(Runner):
    """What is common to all that work file by file, with pandas."""

    @abstractmethod
    def parts(self, transformation: str, parts: Sequence[int]) -> list[Any]:
        """Do the work with each file.

        Parameters
        ----------
        transformation : str
            Which.
        parts : sequence of int
            Numbers of the files.

        Returns
        -------
        list of Series or DataFrame
            In the order of the files.
        """

    def run(self, transformation: str, parts: Sequence[int]) -> Found:
        """As of `Runner`."""
        import pandas as pd

        done = self.parts(transformation, parts)
        if transformation in (APPLY, COLUMN):
            return pd.concat(done, ignore_index=True)
        return pd.concat(done).groupby(level=0).sum()

    def values(self, found: Found) -> FloatArray:
        """As of `Runner`."""
        return np.asarray(found, np.float64)

    def aggregates(self, found: Found) -> Aggregates:
        """As of `Runner`."""
        return aggregates_of(cast("pd.DataFrame", found), self.work)


class PandasParts(OfParts):
    """pandas on one core."""

    def start(self) -> None:
        """As of `Runner`."""
        one_thread()

    def parts(self, transformation: str, parts: Sequence[int]) -> list[Any]:
        """As of `OfParts`."""
        return [of_part(self.work, transformation, part) for part in parts]


RUNNER = PandasParts
