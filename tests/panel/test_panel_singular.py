"""Singular values of small matrices: those of NumPy, in any unit, however near to each other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.singular import extreme_eigenvalues, singular_values, singular_values_of

SEEDS = st.integers(0, 2**32 - 1)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(-140, 140), st.sampled_from(["spread", "near"])
)
@settings(max_examples=200, deadline=None)
def test_singular_values_in_any_unit(seed: int, size: int, power: int, how: str) -> None:
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    known = 10.0 ** rng.uniform(-5, 0, size) if how == "spread" else 1.0 + 10.0 ** rng.uniform(-16, -1, size)
    lower = np.linalg.qr(((left * known) @ right).T)[1].T
    largest, smallest = singular_values(np.ascontiguousarray(lower * 10.0**power), np.empty((size, size)))
    np.testing.assert_allclose(largest, known.max() * 10.0**power, rtol=1e-13)
    np.testing.assert_allclose(smallest, known.min() * 10.0**power, rtol=1e-9)  # that of `lower` itself


def matrix_with(known: FloatArray, rng: np.random.Generator, power: int = 0) -> FloatArray:
    """A symmetric matrix with these eigenvalues."""
    axes = np.linalg.qr(rng.standard_normal((len(known), len(known))))[0]
    made = (axes * known) @ axes.T * 10.0**power
    return np.ascontiguousarray((made + made.T) / 2)


@given(SEEDS, st.integers(1, 40), st.integers(-290, 290), st.sampled_from(["spread", "few", "near", "one"]))
@settings(max_examples=200, deadline=None)
def test_extreme_eigenvalues_of_any_matrix(seed: int, size: int, power: int, how: str) -> None:
    rng = np.random.default_rng(seed)
    known = {
        "spread": 10.0 ** rng.uniform(-3, 0, size),
        "few": rng.choice([0.01, 0.3, 1.0], size),  # Laguerre's method is slower where some are equal
        "near": 1.0 + 10.0 ** rng.uniform(-16, -1, size),
        "one": np.ones(size),
    }[how]
    largest, smallest = extreme_eigenvalues(matrix_with(known, rng, power), np.empty((size, size)))
    np.testing.assert_allclose(largest / 10.0**power, known.max(), rtol=1e-12)
    np.testing.assert_allclose(smallest / 10.0**power, known.min(), rtol=0, atol=1e-12 * known.max())


@given(SEEDS, st.integers(1, 8), st.floats(0, 6), st.booleans())
@settings(max_examples=200, deadline=None)
def test_singular_values_of_columns_of_any_condition(
    seed: int, size: int, power: float, in_place: bool
) -> None:
    rng = np.random.default_rng(seed)
    columns = np.linalg.qr(rng.standard_normal((30, size)))[0] * np.geomspace(1.0, 10.0**-power, size)
    columns = columns @ np.linalg.qr(rng.standard_normal((size, size)))[0]
    gram = columns.T @ columns
    lower = np.linalg.cholesky(gram)
    largest, smallest = singular_values_of(gram, lower, gram if in_place else np.empty_like(gram))
    known = np.linalg.svd(columns, compute_uv=False)
    np.testing.assert_allclose(largest, known[0], rtol=1e-13)
    np.testing.assert_allclose(smallest, known[-1], rtol=max(1e-12, 1e-15 * 100.0**power))
