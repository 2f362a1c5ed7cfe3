"""FieldTrip's trialinfo: which of its columns has the codes of events."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["code_columns", "codes_of", "in_words", "table_of"]

SHOWN = 6  # codes of a column that are listed


def table_of(struct: dict[str, Any]) -> np.ndarray:
    """The matrix trialinfo.

    returns: (trials, columns). Empty if there is none.
    """
    import numpy as np

    table = np.asarray(struct.get("trialinfo", ()))
    return table[:, np.newaxis] if table.ndim == 1 else table


def code_columns(table: np.ndarray) -> dict[int, Counter[int]]:
    """Columns that could be codes.

    table: (trials, columns). What `table_of` gave.
    """
    import numpy as np

    if table.ndim != 2 or table.dtype.kind not in "biuf":
        return {}
    found: dict[int, Counter[int]] = {}
    before: list[np.ndarray] = []
    for number, values in enumerate(table.T, start=1):
        if not np.isfinite(values).all() or (values != np.round(values)).any():
            continue
        if not any(np.array_equal(values, other) for other in before):
            before.append(values)
            found[number] = Counter(values.astype(int).tolist())
    return found


def in_words(columns: dict[int, Counter[int]]) -> str:
    """The codes of columns, and how often they are there."""
    return "; ".join(f"column {number}: {_few(codes)}" for number, codes in columns.items())


def codes_of(table: np.ndarray, column: int | None, trials: int, file: Path, participant: str) -> np.ndarray:
    """A code of each trial.

    table: (trials, columns). What `table_of` gave.
    returns: int, (trials,)
    """
    found = code_columns(table) if len(table) == trials else {}
    if column is None and len(found) > 1:
        raise InputError(
            "several columns of trialinfo could be the codes of events",
            participant=participant,
            file=file,
            field="input.column",
            found=in_words(found),
            expected="the number of one of them",
            hint=f"name the column in the study file, for example: column = {min(found)}",
        )
    wanted = column or next(iter(found), 1)
    fits = table.ndim == 2 and wanted <= table.shape[1] and len(table) == trials
    if not fits or not code_columns(table[:, wanted - 1 : wanted]):
        raise InputError(
            "no event code for each trial",
            participant=participant,
            file=file,
            field="input.column",
            found=f"trialinfo: {' × '.join(map(str, table.shape))} of {table.dtype}"
            if table.size
            else "no trialinfo, from which classes come",
            expected=f"trialinfo with {trials} rows of numbers, whole ones in column {wanted}",
            hint="set cfg.trialdef, or data.trialinfo, before saving; a table has to become a matrix",
        )
    return table[:, wanted - 1].astype(int)


def _few(codes: Counter[int]) -> str:
    if len(codes) > 2 * SHOWN:
        return f"{len(codes)} different, from {min(codes)} to {max(codes)}"
    return ", ".join(f"{code} ({count} times)" for code, count in sorted(codes.items()))
