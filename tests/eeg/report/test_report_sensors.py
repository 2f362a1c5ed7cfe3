"""Sensors of several types are shown apart, each in units of its own and called what they are."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from page_reader import Page
from report_synthetic import details, evoked, html_of_report, kind_result, report_content

from shortloop.eeg.features.names import squared
from shortloop.eeg.report.collect import collect_evoked, collect_patterns
from shortloop.eeg.report.content import Evoked, Patterns
from shortloop.eeg.report.labels import readable, scaled
from shortloop.eeg.report.page import page_of, panels
from shortloop.eeg.report.sensors import measures, responses, sensors_of, types_of
from shortloop.eeg.report.sentences import overview
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
    facts: dict[str, Any] = {
        "kind": kind,
        "phase": "study",
        "phases": ["study"],
        "features": 8,
        "unit": "a.u.",
    }
    facts |= {"channels": list(NAMES), "classes": ["a", "b"], "shown": ["b"], "trials": {"study": [4, 4]}}
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
    whole = collect_patterns([job(kind), job(kind)], [imported()])
    assert whole is not None
    assert [each.unit for each in whole.parts.values()] == units
    for each in whole.parts.values():
        wanted = [NAMES.index(name) for name in each.channels]
        assert each.patterns is not None
        np.testing.assert_array_equal(each.patterns[0, 0], wanted)
        if kind == "power":
            assert each.of_frequencies is not None
            np.testing.assert_array_equal(each.of_frequencies[0, 0, :, 1], wanted)
    plain = collect_patterns([job(kind)], [imported(["eeg"] * 8)])
    assert plain is not None
    assert not plain.parts


def test_responses_are_parted_with_their_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortloop.eeg.report.collect.upstream", lambda result: ())
    found = list(collect_evoked([job("amplitude")], [imported()]))
    assert [each.unit for each in found] == ["T", "T/m", "V"]
    for each in found:
        np.testing.assert_array_equal(each.means[0, 0, :, 0], [NAMES.index(name) for name in each.channels])
    assert [each.name for each in collect_evoked([job("amplitude")], [imported([])])] == [""]


def of(whole: Patterns, unit: str, called: str) -> Patterns:
    return replace(whole, unit=unit, sensors=called)


def test_the_page_shows_each_apart() -> None:
    result = details(kind_result(participants=2), classes=2)
    assert result.patterns is not None
    parts = {
        "mag": of(result.patterns, "T", "magnetometers"),
        "grad": of(result.patterns, "T/m", "planar gradiometers"),
    }
    result = replace(result, patterns=replace(result.patterns, parts=parts))
    shown: tuple[Evoked, ...] = (
        replace(evoked(2), unit="T", name="mag", sensors="magnetometers"),
        replace(evoked(2), name="eeg", sensors="EEG channels"),
    )
    content = report_content(result, evoked=shown)
    names = [each.name for each in panels(content)]
    assert names[:2] == ["evoked_study_mag", "evoked_study_eeg"]
    assert [name for name in names if "patterns" in name] == [
        "amplitude_patterns_mag",
        "amplitude_patterns_grad",
    ]
    assert len({*names}) == len(names)
    tables = {each.file: each.content for section in page_of(content).sections for each in section.figures}
    for name, unit in (("mag", "fT"), ("grad", "fT/cm")):
        head = next(csv.reader(io.StringIO(tables[f"tables/amplitude_patterns_{name}.csv"])))
        assert head[-1] == f"pattern ({unit})"
    text = Page(html_of_report(content)).text
    for said in (
        "Event-related fields and event-related potentials",
        "Event-related fields, study, magnetometers.",
        "Shown are the magnetometers in which classes differ most",
        "Activation patterns of planar gradiometers, amplitude.",
        "over the features of a channel, of planar gradiometers alone",
    ):
        assert said in text


def test_what_was_recorded_is_called_so() -> None:
    meg, eeg = imported().facts["recordings"], imported(["eeg"] * 8).facts["recordings"]
    assert measures(meg) == ["MEG", "EEG"]
    assert measures(eeg) == measures(()) == ["EEG"]
    assert measures([{"kind": "amplitude"}]) == []
    ready = overview(report_content(kind_result(unit="bin"), recordings=({"kind": "amplitude"},)))
    assert "Ready-made features of 8 participants were decoded" in ready
    assert "times" not in ready
    assert "MEG and EEG of 8 participants were decoded" in overview(
        report_content(kind_result(), recordings=tuple(meg))
    )
    assert [responses(unit) for unit in ("V", "µV", "fT/cm", "a.u.")].count("event-related fields") == 1


def test_units_of_power_and_of_what_is_very_small() -> None:
    assert [squared(unit) for unit in ("V", "T/m", "V/m²", "a.u.", "1")] == [
        "V²",
        "T²/m²",
        "V²/m⁴",
        "a.u.",
        "1",
    ]
    (one, _), (squares, unit) = readable("T/m"), readable(squared("T/m"))
    np.testing.assert_allclose(squares, one**2)
    assert unit == "fT²/cm²"
    for unit, value, wanted in (
        ("V", 3e-6, (3.0, "µV")),
        ("T²", 1.5e-26, (15.0, "10³ fT²")),
        ("a.u.", 4.2e-6, (4.2, "10⁻⁶ a.u.")),
    ):
        factor, said = scaled(unit, value)
        np.testing.assert_allclose(factor * value, wanted[0])
        assert said == wanted[1]
    assert scaled("a.u.", 0.0) == scaled("a.u.", float("inf")) == (1.0, "a.u.")
