"""Names of coefficients of several parts come in one order, whichever part has which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shortloop.panel.statistics import merge_terms


@given(
    st.sets(st.text("ab ]9", max_size=3), min_size=1, max_size=6),
    st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_it_is_the_order_that_all_texts_together_would_have(
    texts: set[str], parts: list[set[int]], other: int
) -> None:
    levels = sorted(texts)
    whole = [("Intercept", 0), *((f"k[T.{level}]", 1) for level in levels), ("x", 2), ("a", 3)]
    cut = [
        [each for place, each in enumerate(whole) if each[1] != 1 or place - 1 in part]
        for part in (*parts, {*range(6)})
    ]
    cut[0] = [each for each in cut[0] if each[1] != other]
    expected = tuple(zip(*whole, strict=True))
    for order in (cut, cut[::-1]):
        assert (
            merge_terms([(tuple(n for n, _ in part), tuple(t for _, t in part)) for part in order])
            == expected
        )


def test_texts_that_never_meet_and_orders_that_contradict_each_other() -> None:
    parts = [
        (("Intercept", "z[T.b c]"), (0, 1)),
        (("Intercept", "z[T.b]", "a[T.y]"), (0, 1, 2)),
        (("Intercept", "a[T.x]"), (0, 2)),
    ]
    names, terms = merge_terms(parts)
    assert names == ("Intercept", "z[T.b]", "z[T.b c]", "a[T.x]", "a[T.y]")
    assert terms == (0, 1, 1, 2, 2)
    names, _ = merge_terms([(("a", "b"), (0, 0)), (("b", "a"), (0, 0))])
    assert sorted(names) == ["a", "b"]
