"""Topographies are drawn where recordings say that channels are, else where their names say."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import mne
import numpy as np
import pytest
from report_synthetic import details, kind_result

from shortloop.eeg.report.sections.patterns import SECTION, activation_patterns
from shortloop.eeg.report.sensors import Positions, positions_of, topography_of
from shortloop.stages.results import Result

NAMES = ("Fz", "Cz", "Pz", "Oz", "C3", "C4", "P3", "P4")
CODES = tuple(f"E{number}" for number in range(1, 9))
SYSTEM = "10-05"


def positions(montage: str = "easycap-M1") -> np.ndarray:
    info = mne.create_info(list(NAMES), 100.0, "eeg", verbose="ERROR")
    info.set_montage(montage, verbose="ERROR")
    return np.array([each["loc"][:3] for each in info["chs"]])


def job(at: np.ndarray | None, channels: tuple[str, ...] = NAMES, source: str = "file") -> Result:
    """What an import leaves."""
    facts = {
        "phases": {"run": {"channels": list(channels)}},
        "recordings": [{"accounts": [{"positions": "" if at is None else source}]}],
    }
    arrays = {} if at is None else {"positions_run": at}
    return cast("Result", SimpleNamespace(facts=facts, record={"facts": facts}, arrays=arrays))


def drawn(*jobs: Result, channels: tuple[str, ...] = NAMES) -> Any:
    return topography_of(channels, positions_of(jobs, "run", channels))


def at_of(place: Any) -> np.ndarray:
    return np.array([each["loc"][:3] for each in place.info["chs"]])


def test_those_of_the_recordings_go_first() -> None:
    one, two = positions(), positions() + 0.004
    place = drawn(job(one), job(two), job(None))
    np.testing.assert_allclose(at_of(place), one + 0.002, atol=1e-7)
    assert place.channels == NAMES
    assert place.said == "at the positions in the recordings"
    assert drawn(job(one, source="easycap-M1")).said == "at the positions of easycap-M1"
    assert drawn(job(one, source="easycap-M1"), job(two)).said == "at the positions in the recordings"


def test_channels_whose_names_say_nothing() -> None:
    place = drawn(job(positions(), CODES), channels=CODES)
    np.testing.assert_allclose(at_of(place), positions(), atol=1e-7)
    assert drawn(job(None, CODES), channels=CODES) is None


def test_names_where_recordings_say_nothing() -> None:
    for jobs in ([], [job(None)], [job(np.full((8, 3), np.nan))]):
        place = drawn(*jobs)
        assert SYSTEM in place.said
        assert "turned" not in place.said
        assert place.channels == NAMES


@pytest.mark.parametrize("scale", [1000.0, 100.0, 0.01, 10.6])
def test_positions_in_other_units_are_not_used(scale: float) -> None:
    assert SYSTEM in drawn(job(scale * positions())).said
    assert drawn(job(scale * positions(), CODES), channels=CODES) is None


def test_channels_at_one_place_are_not_used() -> None:
    at = positions()
    at[1] = at[0]
    assert SYSTEM in drawn(job(at)).said


TURNED = {
    "to the left": lambda at: at[:, [1, 0, 2]] * [1, -1, 1],
    "to the right": lambda at: at[:, [1, 0, 2]] * [-1, 1, 1],
    "back": lambda at: at * [-1, -1, 1],
    "mirrored": lambda at: at * [-1, 1, 1],
}


@pytest.mark.parametrize("how", TURNED)
def test_positions_that_are_turned_against_the_names_are_not_used(how: str) -> None:
    turned = TURNED[how](positions())
    place = drawn(job(turned))
    assert SYSTEM in place.said
    assert "turned against the names" in place.said
    place = drawn(job(positions()), job(turned))  # of others they are used
    np.testing.assert_allclose(at_of(place), positions(), atol=1e-7)


def test_too_few_are_not_used_and_those_without_are_named() -> None:
    at = positions()
    at[7] = np.nan
    place = drawn(job(at))
    assert place.channels == NAMES[:7]
    assert place.said == "at the positions in the recordings"
    at[5:] = np.nan
    assert SYSTEM in drawn(job(at)).said


def test_the_figure_and_its_caption() -> None:
    result = details(kind_result(), channels=CODES)
    assert result.patterns is not None
    at = positions()
    at[7] = np.nan
    patterns = replace(result.patterns, positions=Positions(at, "file"))
    figure = activation_patterns(replace(result, patterns=patterns))
    assert len(figure.axes) > 10  # as without positions there is one for each class
    assert SECTION.figure is not None
    said = SECTION.figure.caption(replace(result, patterns=patterns), {})
    assert "at the positions in the recordings (none for E8)" in said


def helmet(count: int = 24) -> np.ndarray:
    """Places all over the upper half of a sphere of 11 cm."""
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    up = 1 - np.arange(count) / count
    aside = np.sqrt(1 - up**2)
    return 0.11 * np.column_stack([aside * np.cos(turn), aside * np.sin(turn), up])


def of_meg(at: np.ndarray, unit: str) -> Any:
    names = tuple(f"MEG{number}" for number in range(len(at)))
    made = job(at, names)
    made.facts["phases"]["run"]["unit"] = unit
    return drawn(made, channels=names)


def test_magnetometers_are_drawn_where_they_are() -> None:
    place = of_meg(helmet(), "T")
    np.testing.assert_allclose(at_of(place), helmet(), atol=1e-7)
    assert place.info.get_channel_types() == ["mag"] * 24
    assert "magnetometers or axial gradiometers" in place.said
    assert not place.pairs
    assert of_meg(1000 * helmet(), "T") is None


def test_planar_gradiometers_are_drawn_two_by_two() -> None:
    """As MNE does it, which takes the root mean square of those that it knows by their names."""
    from mne.channels.layout import _merge_grad_data

    place = of_meg(np.repeat(helmet(), 2, axis=0), "T/m")
    np.testing.assert_allclose(at_of(place), helmet(), atol=1e-7)
    assert (len(place.channels), place.pairs) == (48, True)
    assert "root mean square" in place.said
    values = np.random.default_rng(0).standard_normal((3, 48))
    np.testing.assert_allclose(
        place.values_of(values), [_merge_grad_data(each)[:, 0] for each in values[..., np.newaxis]]
    )
    shuffled = np.concatenate([helmet(), helmet()])
    assert of_meg(shuffled, "T/m") is None  # all of the one direction first
    assert of_meg(helmet(), "T/m") is None  # one direction alone


def test_sensors_of_several_types_are_no_head() -> None:
    assert of_meg(np.concatenate([helmet(), np.full((24, 3), np.nan)]), "a.u.") is None
    assert of_meg(np.repeat(helmet(), 2, axis=0), "a.u.") is None


@pytest.mark.parametrize("sensors", ["mag", "grad"])
def test_a_topography_of_meg(sensors: str) -> None:
    count = 24
    result = details(kind_result(), channels=tuple(f"MEG{number}" for number in range(count)))
    assert result.patterns is not None
    spots = np.repeat(helmet(count // 2), 2, axis=0) if sensors == "grad" else helmet(count)
    patterns = replace(result.patterns, positions=Positions(spots, "file", sensors=sensors))
    shown = replace(result, patterns=patterns)
    figure = activation_patterns(shown)
    assert sum(bool(axes.images) for axes in figure.axes) >= 3  # one for each class, or more
    assert SECTION.figure is not None
    said = SECTION.figure.caption(shown, {})
    assert ("in either direction" in said) == (sensors == "grad")
    assert ("magnetometers or axial gradiometers" in said) == (sensors == "mag")
