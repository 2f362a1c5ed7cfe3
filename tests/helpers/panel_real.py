"""Tables of other libraries, as their users read them."""

from __future__ import annotations

import importlib

import pandas as pd
import pytest


def real_table(source: str) -> pd.DataFrame:
    """A table by the module that has it, of statsmodels or linearmodels."""
    library = source.split(".", maxsplit=1)[0]
    pytest.importorskip(library, reason=f"{library} is not installed")
    module = importlib.import_module(source)
    found = module.load() if library == "linearmodels" else module.load_pandas().data
    return pd.DataFrame(found).reset_index(drop=True)
