"""The functions do what they say: they are called as any other."""

import numpy as np
import pandas as pd
from methods.a_fit import fit


def test_a_slope_that_is_known_is_found():
    capital = np.arange(20.0)
    rows = pd.DataFrame({"capital": capital, "investment": 3 + 0.5 * capital})
    found = fit(rows, "investment ~ capital")
    assert abs(found["slope"] - 0.5) < 1e-9
    assert found["error"] < 1e-9
