"""What runs found: numbers by name, and which of them differ."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shortloop.sweep.findings import Finding, differing, findings_of, leaves

KEYS = st.text("abc", min_size=1, max_size=3)
PLAIN = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.text(max_size=3)),
        *(st.integers(-(10**320), 10**320), st.floats(-1e300, 1e300)),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return [float(value)] if number and abs(value) < 1e308 else []


@given(st.dictionaries(KEYS, PLAIN, max_size=4))
def test_every_number_is_a_finding(summary: dict[str, Any]) -> None:
    assert sorted(each.value or 0.0 for each in leaves(summary).values()) == sorted(numbers(summary))


def test_what_leaves_are_called() -> None:
    summary: dict[str, Any] = {
        "facts": {
            "slope": 2,
            "fits": [{"name": "a", "r2": 0.5}, {"name": "b", "r2": 0.7}],
            "pair": [1, 2.5],
            "same": [{"name": "x", "n": 1}, {"name": "x", "n": 2}],
            "curve": list(range(21)),
            "fine": True,
            "words": "12",
        }
    }
    assert {name: each.value for name, each in leaves(summary).items()} == {
        "facts.slope": 2,
        "facts.fits.a.r2": 0.5,
        "facts.fits.b.r2": 0.7,
        "facts.pair.1": 1,
        "facts.pair.2": 2.5,
        "facts.same.1.n": 1,
        "facts.same.2.n": 2,
    }


def test_what_the_run_did_is_no_finding() -> None:
    summary: dict[str, Any] = {"pipeline": "x", "seconds": 3.2, "built": 2, "jobs": [{"seconds": 1}]}
    summary["facts"] = {"n": 3}
    assert {name: each.value for name, each in findings_of(summary, []).items()} == {"facts.n": 3}


def test_the_analysis_that_knows_a_summary_says_what_it_found() -> None:
    def other(summary: object) -> None:
        return None

    def own(summary: object) -> dict[str, Finding]:
        return {"peak": Finding(3.0, "ms"), "p": Finding(0.5)}

    assert findings_of({"n": 1}, [other, own]) == {"peak (ms)": Finding(3.0, "ms"), "p": Finding(0.5)}
    assert findings_of({"n": 1}, [other]) == {"n": Finding(1.0)}


def test_what_differs_most_comes_first() -> None:
    def names(*runs: dict[str, float | None]) -> list[str]:
        return differing([{name: Finding(value) for name, value in run.items()} for run in runs])

    first = {"a": 100.0, "b": 1.0, "same": 3.0, "c": -1.0, "gone": 5.0}
    second = {"a": 101.0, "b": 2.0, "same": 3.0 + 1e-12, "c": 1.0}
    assert names({**first}, {**second}) == ["c", "b", "a", "gone"]
    for nothing in [(), ({"a": None}, {"a": None}), ({"a": 0.0}, {"a": 0.0})]:
        assert names(*nothing) == []
    assert names({"a": 0.0}, {"a": None}) == names({"a": 1.0}, {}) == ["a"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=5))
def test_what_differs(values: list[float]) -> None:
    runs = [{"a": Finding(value)} for value in values]
    spread, largest = max(values) - min(values), max(map(abs, values))
    assert differing(runs) == (["a"] if spread > 1e-9 * largest else [])
    assert differing(runs) == differing(runs[::-1])
