"""What became of each fit, in one word: a number in files, a text for readers."""

from __future__ import annotations

__all__ = [
    "CODES",
    "CONSTANT_OUTCOME",
    "FAILED",
    "FITTED",
    "LEVERAGE_ONE",
    "MISSING_VALUES",
    "NOT_CONVERGED",
    "NOT_FINITE",
    "PATHS",
    "SEPARATED",
    "SINGULAR",
    "STATUSES",
    "TOO_FEW_ROWS",
]

FITTED = 0
(
    SINGULAR,
    SEPARATED,
    NOT_CONVERGED,
    CONSTANT_OUTCOME,
    TOO_FEW_ROWS,
    MISSING_VALUES,
    NOT_FINITE,
    FAILED,
    LEVERAGE_ONE,
) = range(1, 10)
STATUSES = (
    "fitted",
    "singular",
    "separated",
    "not converged",
    "constant outcome",
    "too few rows",
    "missing values",
    "values not finite",
    "failed",
    "leverage of 1",
)
"""By number. Of all but the first and the last, numbers are those of statsmodels, not to be relied on."""
PATHS = ("batched", "statsmodels")
"""What fitted it, by number."""
CODES = {
    "status": "what became of the fit: " + ", ".join(f"{i} {each}" for i, each in enumerate(STATUSES)),
    "path": "which code fitted it: " + ", ".join(f"{i} {each}" for i, each in enumerate(PATHS)),
}
"""Arrays of such numbers, and what they are."""
