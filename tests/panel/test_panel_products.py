"""Products of columns of any number with values of rows: those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.matrices import gram_of, move, products_of


@pytest.fixture(params=[(size, rows) for size in range(1, 9) for rows in (1, 7, 64, 101)])
def columns(request: pytest.FixtureRequest) -> FloatArray:
    return np.random.default_rng(0).standard_normal(request.param)


@pytest.mark.parametrize("is_weighted", [True, False])
def test_products_of_columns_with_each_other(columns: FloatArray, is_weighted: bool) -> None:
    size, rows = columns.shape
    weight = np.random.default_rng(1).standard_normal((rows,)) if is_weighted else None
    gram = np.full((size, size), 7.0)
    gram_of(columns, weight, gram)
    weighted = columns if weight is None else columns * weight
    expected = np.tril(weighted @ columns.T) + np.triu(np.full((size, size), 7.0), 1)
    np.testing.assert_allclose(gram, expected, rtol=1e-13, atol=1e-13 * rows)


def test_products_with_the_same_values(columns: FloatArray) -> None:
    size, rows = columns.shape
    values, products = np.random.default_rng(1).standard_normal((rows,)), np.empty(size)
    products_of(columns, values, products)
    np.testing.assert_allclose(products, columns @ values, rtol=1e-13, atol=1e-13 * rows)


def test_what_is_added_to_coefficients_is_taken_from_residuals(columns: FloatArray) -> None:
    size, rows = columns.shape
    rng = np.random.default_rng(1)
    step, gamma, left = (
        rng.standard_normal((size,)),
        rng.standard_normal((size,)),
        rng.standard_normal((rows,)),
    )
    coefficients, residuals = gamma + step, left - step @ columns
    move(columns, step, gamma, left)
    np.testing.assert_array_equal(gamma, coefficients)
    np.testing.assert_allclose(left, residuals, rtol=1e-13, atol=1e-13 * size)
