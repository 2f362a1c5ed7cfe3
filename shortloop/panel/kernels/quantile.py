"""Quantile regressions of all groups, one after the other, at the exact optimum.

Portnoy and Koenker 1997 (The Gaussian hare and the Laplacian tortoise): an interior point method
for the dual linear program, with steps as of Mehrotra 1992. It ends next to a vertex, a fit through as many
rows as there are coefficients. From there, one goes along edges until the gradient proves that none leads
down (Koenker and d'Orey 1987, Computing regression quantiles). Mostly, the first vertex is the last.

On an orthonormal basis of the regressors, so that their units do not matter.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.kernels import groups, matrices
from shortloop.panel.kernels.groups import Found, Room, Rows
from shortloop.panel.kernels.rows import longest_of, put
from shortloop.panel.kernels.singular import singular_values
from shortloop.panel.statistics import Reason

NUMBERS = ("prsquared", "condition_number", "iterations", "converged", "sparsity", "bandwidth")
MOST_STEPS, GAP = 60, 1e-10  # of the interior point; from a gap of this share of the loss, vertices do better
INSIDE = 0.99995  # share of the way to the bounds that a step goes
MOST_EDGES = 50  # for each row and coefficient
TIED = 1e-12  # share of a residual's terms that is rounding
PROVEN = 1e-9  # by how much a multiplier may be beyond its bounds, which are one apart
AGREED = 5e-10  # share of a standard error, or of a larger coefficient, that rounding may be
ROUNDING = 2.2e-16
LEAST = 1e-4  # share of the distance between bounds
EXACT = 1e-6  # share of the outcome's size that residuals must have, not to be rounding
FEW = 1e-3  # rows about the quantile, at least, for a density there


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fit_groups(rows: Rows, found: Found, quantile: float) -> None:
    room, size, longest = groups.room_for(rows), rows.size, longest_of(rows.starts)
    gram, first, inverse = room.gram, room.first, room.inverse
    vectors, small, edges = np.empty(11 * longest), np.empty((3, size)), np.empty((size, 2 * size))
    through, sides = np.empty(size, np.int64), np.empty(longest, np.int64)
    covariance, numbers, reasons, constants = found.covariance, found.numbers, found.reasons, found.constants
    for g in range(reasons.shape[0]):
        reasons[g], q, largest, smallest, squares = groups.basis_of_group(rows, g, room)
        if reasons[g] in (Reason.SINGULAR, Reason.ILL_CONDITIONED):
            is_there, q, _ = groups.scaled_basis_of_group(rows, g, room)
            if is_there:
                largest, smallest = singular_values(room.lower, gram)
                reasons[g] = Reason.VOUCHED
        if reasons[g] != Reason.VOUCHED:
            continue
        numbers[g, 1] = largest / smallest
        x, y = groups.columns_of_group(rows, g), rows.outcome[rows.starts[g] : rows.starts[g + 1]]
        number, beta, gamma, error = y.shape[0], found.beta[g], small[0], small[1]
        store = vectors[: 11 * number].reshape(11, number)
        left, weight = store[0], store[1]
        steps = _approach(q, y, quantile, store, room, small)
        moves = -1
        if _choose_rows(q, store, through, edges):
            moves = _descend(q, y, quantile, through, sides[:number], edges, store, small)
        if moves < 0:
            reasons[g] = Reason.NOT_CONVERGED
            continue
        numbers[g, 2], numbers[g, 3] = steps + moves, 1.0
        matrices.inverse_of(room.lower, inverse)
        matrices.coefficients_of(inverse, gamma, beta)
        _refine(x, y, through, edges[:, size:], inverse, beta, small)
        constants[g] = groups.constant_of(x)
        if constants[g] == groups.NO_CONSTANT:
            weight[:] = 1.0
            constants[g] = groups.implicit_constant(q, weight, smallest, math.sqrt(squares))
            if constants[g] == groups.UNCLEAR:
                reasons[g] = Reason.UNCLEAR_CONSTANT
                continue
        whole = _loss(y, np.percentile(y, 100.0 * quantile), quantile)  # type: ignore[arg-type]
        if not whole > 0.0:
            reasons[g] = Reason.NO_VARIANCE
            continue
        numbers[g, 0] = 1.0 - _loss(left, 0.0, quantile) / whole
        if np.isnan(numbers[g, 5]):  # rows are too few for so far a quantile: there are no standard errors
            continue
        sparsity = _sparsity(y, left, numbers[g])
        if not sparsity > 0.0:
            reasons[g] = Reason.NO_VARIANCE
            continue
        for i in range(number):
            weight[i] = ((quantile if left[i] > 0.0 else 1.0 - quantile) * sparsity) ** 2
        matrices.gram_of(q, weight, gram)
        matrices.sandwich_of(inverse, gram, first, covariance[g])
        for j in range(size):
            if not error[j] < AGREED * max(math.sqrt(covariance[g, j, j]), abs(beta[j])):
                reasons[g] = Reason.UNSTABLE


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _approach(
    q: FloatArray, y: FloatArray, quantile: float, store: FloatArray, room: Room, small: FloatArray
) -> int:
    """Maximise ``a @ y`` with ``q @ a == (1 - quantile) * q.sum(axis=1)``, ``0 < a < 1``; return steps."""
    # a is not next to a bound where the optimum goes through a row, else next to 1 above it, and to 0 below
    # it. `store` is (11, n): its first rows become the residuals, a, and 1 - a.
    rows, gamma, step, gram, lower = y.shape[0], small[0], small[1], room.gram, room.first
    left, a, b, above, below, weight, of_a, of_above, of_below = store[:9]
    gamma[:] = 0.0
    put(y, left)
    matrices.products_of(q, left, step)
    matrices.move(q, step, gamma, left)  # least squares
    spread = 0.0
    for i in range(rows):
        spread += abs(left[i]) / rows
    a[:], b[:] = 1.0 - quantile, quantile
    for i in range(rows):  # the residual is the difference of the multipliers of both bounds
        above[i], below[i] = max(left[i], 0.0) + spread, max(-left[i], 0.0) + spread
    for steps in range(MOST_STEPS):
        gap = loss = ahead = 0.0
        for i in range(rows):
            gap += above[i] * b[i] + below[i] * a[i]
            loss += quantile * above[i] + (1.0 - quantile) * below[i]
            weight[i] = 1.0 / (above[i] / b[i] + below[i] / a[i])
        matrices.gram_of(q, weight, gram)
        if not (gap > GAP * loss and matrices.cholesky(gram, lower)):
            return steps
        # First to where products with bounds were 0, to see how far that is; then to where they are alike.
        of_above[:], of_below[:] = 0.0, 0.0
        primal, dual = _direction(q, lower, store, step, small[2])
        for i in range(rows):
            ahead += (above[i] + dual * of_above[i]) * (b[i] - primal * of_a[i])
            ahead += (below[i] + dual * of_below[i]) * (a[i] + primal * of_a[i])
        center = gap * (ahead / gap) ** 3 / (2.0 * rows)
        for i in range(rows):
            of_above[i], of_below[i] = center + of_above[i] * of_a[i], center - of_below[i] * of_a[i]
        primal, dual = _direction(q, lower, store, step, small[2])
        for i in range(rows):
            a[i] += primal * of_a[i]
            b[i] -= primal * of_a[i]
            above[i] += dual * of_above[i]
            below[i] += dual * of_below[i]
        step *= dual
        matrices.move(q, step, gamma, left)
    return MOST_STEPS


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _direction(
    q: FloatArray, lower: FloatArray, store: FloatArray, step: FloatArray, right: FloatArray
) -> tuple[float, float]:
    """Set the step of Newton to given products with the bounds; return how far a, and multipliers, may go."""
    # The rows of `store` for the change of the multipliers hold the products.
    left, a, b, above, below, weight, of_a, of_above, of_below, pull, moved = store
    for i in range(left.shape[0]):
        pull[i] = weight[i] * (left[i] - of_above[i] / b[i] + of_below[i] / a[i])
    matrices.products_of(q, pull, right)
    matrices.solve(lower, right, step)
    moved[:] = 0.0
    matrices.sum_of(q, step, -1.0, moved)
    primal = dual = 1.0 / INSIDE
    for i in range(left.shape[0]):
        of_a[i] = pull[i] + weight[i] * moved[i]
        of_above[i] = (of_above[i] + above[i] * of_a[i]) / b[i] - above[i]
        of_below[i] = (of_below[i] - below[i] * of_a[i]) / a[i] - below[i]
        if of_a[i] != 0.0:
            primal = min(primal, b[i] / of_a[i] if of_a[i] > 0.0 else -a[i] / of_a[i])
        if of_above[i] < 0.0:
            dual = min(dual, -above[i] / of_above[i])
        if of_below[i] < 0.0:
            dual = min(dual, -below[i] / of_below[i])
    return INSIDE * primal, INSIDE * dual


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _choose_rows(q: FloatArray, store: FloatArray, through: IntArray, basis: FloatArray) -> bool:
    """Choose independent rows that the optimum probably goes through, as many as there are coefficients."""
    size, rows = q.shape
    a, b, lengths, share, factors = store[1:6]
    lengths[:] = 0.0
    for j in range(size):
        for i in range(rows):
            lengths[i] += q[j, i] * q[j, i]
    for i in range(rows):  # none is too small to be told from rounding of the others
        factors[i] = max(min(a[i], b[i]), LEAST) ** 2
        lengths[i] *= factors[i]
    for k in range(size):
        best = through[k] = np.argmax(lengths)
        new = basis[k, :size]
        put(q[:, best], new)
        length = matrices.dot(new, new)
        for _ in range(2):
            for other in range(k):
                factor = matrices.dot(basis[other, :size], new)
                for j in range(size):
                    new[j] -= factor * basis[other, j]
        rest = matrices.dot(new, new)
        if not rest > TIED * length:
            return False
        new /= math.sqrt(rest)
        share[:] = 0.0
        matrices.sum_of(q, new, 1.0, share)
        for i in range(rows):
            lengths[i] = max(lengths[i] - factors[i] * share[i] ** 2, 0.0)
        lengths[best] = 0.0
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _descend(
    q: FloatArray,
    y: FloatArray,
    quantile: float,
    through: IntArray,
    side: IntArray,
    edges: FloatArray,
    store: FloatArray,
    small: FloatArray,
) -> int:
    """Go along edges from the fit through some rows until none leads down; return their number, or -1."""
    # Sets coefficients of the basis, in the first of `small`, and residuals, in the first of `store`.
    size, rows = q.shape
    gamma, slopes, step = small[0], small[1], small[2]
    left, pull, terms, change, ratio = store[:5]
    side[:] = 0
    stuck = 0  # edges of no length, in a row: ties may lead round in a circle, but not by the rule of Bland
    for moves in range(MOST_EDGES * (rows + size)):
        if not _invert(q, through, edges):
            return -1
        for j in range(size):
            gamma[j] = 0.0
            for k in range(size):
                gamma[j] += edges[j, size + k] * y[through[k]]
        for i in range(rows):
            left[i], terms[i] = y[i], abs(y[i])
        matrices.sum_of(q, gamma, -1.0, left)
        for j in range(size):
            for i in range(rows):
                terms[i] += abs(q[j, i] * gamma[j])
        left[through] = 0.0
        for i in range(rows):
            if abs(left[i]) > TIED * terms[i]:
                side[i] = 1 if left[i] > 0.0 else -1
            else:  # then it is on the side that it has come from
                left[i] = 0.0
                side[i] = side[i] if side[i] != 0 else 1
        side[through] = 0
        for i in range(rows):
            pull[i] = quantile if side[i] > 0 else quantile - 1.0 if side[i] < 0 else 0.0
        matrices.products_of(q, pull, step)
        edge, direction, best, slope = -1, 0.0, 0.0, 0.0
        for k in range(size):
            slopes[k] = length = 0.0
            for j in range(size):
                slopes[k] += step[j] * edges[j, size + k]
                length += edges[j, size + k] ** 2
            for sign in (1.0, -1.0):  # of the residual of the row that the fit leaves
                here = (quantile if sign > 0.0 else 1.0 - quantile) + sign * slopes[k]
                rank = through[k] - rows if stuck > size else here / math.sqrt(length)
                if here < -PROVEN and rank < best:
                    edge, direction, slope, best = k, sign, here, rank
        if edge < 0:
            return moves
        put(edges[:, size + edge], step)
        change[:] = 0.0
        matrices.sum_of(q, step, direction, change)
        least = TIED * math.sqrt(matrices.dot(step, step))
        for i in range(rows):
            ratio[i] = abs(left[i] / change[i]) if side[i] * change[i] < -least else np.inf
        entered = np.argmin(ratio)
        if stuck <= size:
            for entered in np.argsort(ratio):
                slope += abs(change[entered])
                if slope >= 0.0:
                    break
                side[entered] = -side[entered]
        if ratio[entered] == np.inf:
            return -1
        stuck = stuck + 1 if ratio[entered] == 0.0 else 0
        side[through[edge]] = 1 if direction > 0.0 else -1
        through[edge] = entered
    return -1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _invert(q: FloatArray, through: IntArray, edges: FloatArray) -> bool:
    """Invert the rows of the basis that the fit goes through, into the right half of `edges`."""
    size = q.shape[0]
    for k in range(size):
        for j in range(size):
            edges[k, j], edges[k, size + j] = q[j, through[k]], 1.0 if j == k else 0.0
    for j in range(size):
        best = j + int(np.argmax(np.abs(edges[j:, j])))
        if edges[best, j] == 0.0:
            return False
        for m in range(2 * size):
            edges[j, m], edges[best, m] = edges[best, m], edges[j, m]
        pivot = edges[j, j]
        for m in range(j, 2 * size):
            edges[j, m] /= pivot
        for k in range(size):
            factor = edges[k, j]
            if k != j and factor != 0.0:
                for m in range(j, 2 * size):
                    edges[k, m] -= factor * edges[j, m]
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _refine(
    x: FloatArray,
    y: FloatArray,
    through: IntArray,
    inverse_rows: FloatArray,
    inverse: FloatArray,
    beta: FloatArray,
    small: FloatArray,
) -> None:
    """Make the coefficients go through the rows; set how far they may be off, in the second of `small`."""
    size = beta.shape[0]
    step, error, beyond = small[0], small[1], small[2]
    for last in (False, False, True):
        error[:] = 0.0
        for k in range(size):
            row = through[k]
            off, terms = y[row], abs(y[row])
            for j in range(size):
                off -= x[j, row] * beta[j]
                terms += abs(x[j, row] * beta[j])
            for i in range(size):
                step[i] = inverse_rows[i, k] * (ROUNDING * terms if last else off)
            matrices.coefficients_of(inverse, step, beyond)
            for j in range(size):
                error[j] += abs(beyond[j]) if last else beyond[j]
        if not last:
            beta += error


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sparsity(y: FloatArray, left: FloatArray, numbers: FloatArray) -> float:
    """One over the density of residuals at the quantile; negative if there is none to be relied on."""
    # Greene 2008, Econometric Analysis, section 14.3; bandwidth of Hall and Sheather 1988 (On the
    # distribution of a studentized quantile), with the kernel of Epanechnikov.
    rows = y.shape[0]
    spread = float(np.percentile(left, 75.0)) - float(np.percentile(left, 25.0))
    if not spread > EXACT * math.sqrt(matrices.dot(y, y) / rows):
        return -1.0
    deviation = float(np.std(y))
    bandwidth = numbers[5] * (deviation if deviation < spread / 1.34 else spread / 1.34)
    if not bandwidth > 0.0:
        return -1.0
    total = 0.0
    for i in range(rows):
        distance = left[i] / bandwidth
        if abs(distance) <= 1.0:
            total += 0.75 * (1.0 - distance * distance)
    if not total > FEW:
        return -1.0
    numbers[4], numbers[5] = rows * bandwidth / total, bandwidth
    return numbers[4]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _loss(values: FloatArray, center: float, quantile: float) -> float:
    total = 0.0
    for i in range(values.shape[0]):
        distance = values[i] - center
        total += quantile * distance if distance >= 0.0 else (quantile - 1.0) * distance
    return total
