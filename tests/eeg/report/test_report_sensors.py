"""Sensors of several types are shown apart, each in units of its own and called what they are."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import mne
import numpy as np
import pytest
from page_reader import Page
from report_synthetic import details, evoked, html_of_report, kind_result, patterns_of, report_content

from shortloop.eeg.features.names import squared
from shortloop.eeg.report.collect import collect_evoked, collect_patterns
from shortloop.eeg.report.content import Evoked
from shortloop.eeg.report.eeg_page import page_of, panels
from shortloop.eeg.report.figure_parts import scaled_to
from shortloop.eeg.report.labels import readable
from shortloop.eeg.report.sections.patterns import ACTIVATION, activation_patterns
from shortloop.eeg.report.sensors import (
    Positions,
    positions_of,
    sensors_of,
    topography_of,
    types_of,
)
from shortloop.stages.results import Result

TYPES = ["grad", "grad", "mag", "eeg", "grad", "grad", "mag", "eeg"]
NAMES = ("MEG0112", "MEG0113", "MEG0111", "Fz", "MEG0122", "MEG0123", "MEG0121", "Cz")


def imported(types: list[str] = TYPES) -> Result:
    account = {"types": types} if types else {}
    recording = {"phase": "study", "kind": "epochs", "channels": list(NAMES), "accounts": [account, account]}
    facts = {"phases": {"study": {}}, "recordings": [recording]}
    return cast("Result", SimpleNamespace(facts=facts, record={"facts": facts}, arrays={}))


def job(kind: str) -> Result:
    """What `patterns` and `evoked` leave, in which each value says its channel."""
    channel = np.arange(8.0)
    patterns, power = np.tile(channel, (3, 1, 1)), np.tile(channel[:, np.newaxis], (3, 1, 1, 2))
    arrays = {"kept": np.ones(3), "kept_channels": np.tile(channel, (3, 1)), "patterns": patterns}
    if kind == "power":
        arrays |= {"frequencies": np.array([8.0, 10.0]), "patterns_of_frequencies": power}
    means = np.tile(channel[:, np.newaxis], (2, 1, 5))
    arrays |= {"mean_study": means, "error_study": means, "times_study": np.arange(5.0)}
    facts: dict[str, Any] = {"kind": kind, "phase": "study", "phases": ["study"], "features": 8}
    facts |= {"unit": "a.u.", "channels": list(NAMES), "classes": ["a", "b"], "shown": ["b"]}
    facts |= {"trials": {"study": [4, 4]}}
    known = {"facts": {**facts, "baseline": None}, "arrays": arrays, "partition": "s1"}
    return cast("Result", SimpleNamespace(**known))


def test_types_are_those_that_all_recordings_have() -> None:
    one = imported()
    assert types_of([one, one], "study", NAMES) == tuple(TYPES)
    assert types_of([one], "study", NAMES[2:4]) == ("mag", "eeg")
    assert types_of([one], "test", NAMES) == ()
    assert types_of([one, imported(TYPES[::-1])], "study", NAMES) == ()
    assert types_of([imported([])], "study", NAMES) == ()


def test_each_type_has_its_name_and_unit() -> None:
    found = sensors_of(TYPES)
    assert [(each.called, each.unit, each.at) for each in found] == [
        ("magnetometers", "T", [2, 6]),
        ("planar gradiometers", "T/m", [0, 1, 4, 5]),
        ("EEG channels", "V", [3, 7]),
    ]
    assert [each.called for each in sensors_of(["mag", "eeg"])] == ["MEG sensors", "EEG channels"]
    assert [each.called for each in sensors_of(["mag", "eeg", "seeg"])] == ["MEG sensors", "electrodes"]
    for alike in (["eeg"] * 4, ["eeg", "ecog"], ["grad"] * 2, []):
        assert sensors_of(alike) == []


@pytest.mark.parametrize(
    ("kind", "units"), [("amplitude", ["T", "T/m", "V"]), ("power", ["T²", "T²/m²", "V²"])]
)
def test_patterns_are_parted_with_their_channels(kind: str, units: list[str]) -> None:
    whole: Any = collect_patterns([job(kind), job(kind)], [imported()])
    assert [each.unit for each in whole.parts.values()] == units
    for each in whole.parts.values():
        wanted = [NAMES.index(name) for name in each.channels]
        np.testing.assert_array_equal(each.patterns[0, 0], wanted)
        if kind == "power":
            np.testing.assert_array_equal(each.of_frequencies[0, 0, :, 1], wanted)
    plain: Any = collect_patterns([job(kind)], [imported(["eeg"] * 8)])
    assert not plain.parts


def test_responses_are_parted_with_their_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortloop.eeg.report.collect.upstream", lambda result: ())
    found = list(collect_evoked([job("amplitude")], [imported()]))
    assert [each.unit for each in found] == ["T", "T/m", "V"]
    for each in found:
        np.testing.assert_array_equal(each.means[0, 0, :, 0], [NAMES.index(name) for name in each.channels])
    assert [each.name for each in collect_evoked([job("amplitude")], [imported([])])] == [""]


def test_the_page_shows_each_apart() -> None:
    result = details(kind_result(participants=2), classes=2)
    patterns = patterns_of(result)
    parts = {
        "mag": replace(patterns, unit="T", sensors="magnetometers"),
        "grad": replace(patterns, unit="T/m", sensors="planar gradiometers"),
    }
    result = replace(result, patterns=replace(patterns, parts=parts))
    shown: tuple[Evoked, ...] = (
        replace(evoked(2), unit="T", name="mag", sensors="magnetometers"),
        replace(evoked(2), name="eeg", sensors="EEG channels"),
    )
    content = report_content(result, evoked=shown)
    names = [each.name for each in panels(content)]
    assert names[:2] == ["evoked_study_mag", "evoked_study_eeg"]
    assert [name[-4:] for name in names if "patterns" in name] == ["_mag", "grad"]
    assert len({*names}) == len(names)
    tables = {each.file: each.content for section in page_of(content).sections for each in section.figures}
    for name, unit in (("mag", "fT"), ("grad", "fT/cm")):
        head = next(csv.reader(io.StringIO(tables[f"tables/amplitude_patterns_{name}.csv"])))
        assert head[-1] == f"pattern ({unit})"
    text = Page(html_of_report(content)).text
    assert "Event-related fields and event-related potentials" in text
    assert "Event-related fields, study, magnetometers." in text
    assert "Activation patterns of planar gradiometers, amplitude." in text


def test_units_of_power_and_of_what_is_very_small() -> None:
    units = {"V": "V²", "T/m": "T²/m²", "V/m²": "V²/m⁴", "a.u.": "a.u.", "1": "1"}
    assert {unit: squared(unit) for unit in units} == units
    (one, _), (squares, unit) = readable("T/m"), readable(squared("T/m"))
    np.testing.assert_allclose(squares, one**2)
    assert unit == "fT²/cm²"
    for unit, value, wanted in [
        ("V", 3e-6, (3.0, "µV")),
        ("T²", 1.5e-26, (15.0, "10³ fT²")),
        ("a.u.", 4.2e-6, (4.2, "10⁻⁶ a.u.")),
    ]:
        factor, said = scaled_to(np.array([value]), unit)
        assert (factor * value, said) == (pytest.approx(wanted[0]), wanted[1])
    assert scaled_to(np.array([0.0, np.nan]), "a.u.") == (1.0, "a.u.")


ELECTRODES = ("Fz", "Cz", "Pz", "Oz", "C3", "C4", "P3", "P4")
CODES = tuple(f"E{number}" for number in range(1, 9))
SYSTEM = "10-05"


def positions(montage: str = "easycap-M1") -> np.ndarray:
    info = mne.create_info(list(ELECTRODES), 100.0, "eeg", verbose="ERROR")
    info.set_montage(montage, verbose="ERROR")
    return np.array([each["loc"][:3] for each in info["chs"]])


def located(at: np.ndarray | None, channels: tuple[str, ...] = ELECTRODES, source: str = "file") -> Result:
    """What an import leaves."""
    recording = {"accounts": [{"positions": "" if at is None else source}]}
    facts = {"phases": {"run": {"channels": list(channels)}}, "recordings": [recording]}
    arrays = {} if at is None else {"positions_run": at}
    return cast("Result", SimpleNamespace(facts=facts, record={"facts": facts}, arrays=arrays))


def drawn(*jobs: Result, channels: tuple[str, ...] = ELECTRODES) -> Any:
    return topography_of(channels, positions_of(jobs, "run", channels))


def at_of(place: Any) -> np.ndarray:
    return np.array([each["loc"][:3] for each in place.info["chs"]])


def test_those_of_the_recordings_go_first_then_names() -> None:
    one, two = positions(), positions() + 0.004
    place = drawn(located(one), located(two), located(None))
    np.testing.assert_allclose(at_of(place), one + 0.002, atol=1e-7)
    assert place.channels == ELECTRODES
    assert place.said == "at the positions in the recordings"
    assert drawn(located(one, source="easycap-M1")).said == "at the positions of easycap-M1"
    assert drawn(located(one, source="easycap-M1"), located(two)).said == "at the positions in the recordings"
    place = drawn(located(positions(), CODES), channels=CODES)  # whose names say nothing
    np.testing.assert_allclose(at_of(place), positions(), atol=1e-7)
    assert drawn(located(None, CODES), channels=CODES) is None
    for jobs in ([], [located(None)], [located(np.full((8, 3), np.nan))]):
        place = drawn(*jobs)
        assert SYSTEM in place.said
        assert "turned" not in place.said
        assert place.channels == ELECTRODES


TURNED = {
    "to the left": lambda at: at[:, [1, 0, 2]] * [1, -1, 1],
    "to the right": lambda at: at[:, [1, 0, 2]] * [-1, 1, 1],
    "back": lambda at: at * [-1, -1, 1],
    "mirrored": lambda at: at * [-1, 1, 1],
}


@pytest.mark.parametrize("how", TURNED)
def test_positions_that_are_turned_against_the_names_are_not_used(how: str) -> None:
    turned = TURNED[how](positions())
    place = drawn(located(turned))
    assert SYSTEM in place.said
    assert "turned against the names" in place.said
    place = drawn(located(positions()), located(turned))  # of others they are used
    np.testing.assert_allclose(at_of(place), positions(), atol=1e-7)


def test_too_few_or_at_one_place_are_not_used_and_those_without_are_named() -> None:
    at = positions()
    at[7] = np.nan
    place = drawn(located(at))
    assert place.channels == ELECTRODES[:7]
    assert place.said == "at the positions in the recordings"
    at[5:] = np.nan
    assert SYSTEM in drawn(located(at)).said
    at = positions()
    at[1] = at[0]  # two at one place
    assert SYSTEM in drawn(located(at)).said
    for scale in (1000.0, 100.0, 0.01, 10.6):  # in other units
        assert SYSTEM in drawn(located(scale * positions())).said
        assert drawn(located(scale * positions(), CODES), channels=CODES) is None


def helmet(count: int = 24) -> np.ndarray:
    """Places all over the upper half of a sphere of 11 cm."""
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    up = 1 - np.arange(count) / count
    aside = np.sqrt(1 - up**2)
    return 0.11 * np.column_stack([aside * np.cos(turn), aside * np.sin(turn), up])


def of_meg(at: np.ndarray, unit: str) -> Any:
    names = tuple(f"MEG{number}" for number in range(len(at)))
    made = located(at, names)
    made.facts["phases"]["run"]["unit"] = unit
    return drawn(made, channels=names)


def test_magnetometers_are_drawn_where_they_are_and_several_types_on_no_head() -> None:
    place = of_meg(helmet(), "T")
    np.testing.assert_allclose(at_of(place), helmet(), atol=1e-7)
    assert place.info.get_channel_types() == ["mag"] * 24
    assert "magnetometers or axial gradiometers" in place.said
    assert not place.pairs
    assert of_meg(1000 * helmet(), "T") is None
    assert of_meg(np.concatenate([helmet(), np.full((24, 3), np.nan)]), "a.u.") is None
    assert of_meg(np.repeat(helmet(), 2, axis=0), "a.u.") is None


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
    assert of_meg(np.concatenate([helmet(), helmet()]), "T/m") is None  # all of the one direction first
    assert of_meg(helmet(), "T/m") is None  # one direction alone


@pytest.mark.parametrize("sensors", ["mag", "grad"])
def test_a_topography_of_meg(sensors: str) -> None:
    count = 24
    result = details(kind_result(), channels=tuple(f"MEG{number}" for number in range(count)))
    spots = np.repeat(helmet(count // 2), 2, axis=0) if sensors == "grad" else helmet(count)
    patterns = replace(patterns_of(result), positions=Positions(spots, "file", sensors=sensors))
    shown = replace(result, patterns=patterns)
    figure = activation_patterns(shown)
    assert sum(bool(axes.images) for axes in figure.axes) >= 3  # one for each class, or more
    said = ACTIVATION.caption(shown, {})
    assert ("in either direction" in said) == (sensors == "grad")
    assert ("magnetometers or axial gradiometers" in said) == (sensors == "mag")
