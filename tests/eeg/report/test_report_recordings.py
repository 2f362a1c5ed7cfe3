"""The table of recordings says what became of each, as the import counted it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from eeg_recordings import exported, make_raw, read
from page_reader import Page
from report_synthetic import kind_result, report_content, write_report

from shortloop.eeg.checks.summary import summarize
from shortloop.eeg.report.recordings import dropped_trials, recordings_table

STEPS: dict[str, Any] = {
    "highpass": 0.5,
    "lowpass": 40.0,
    "notch": [25.0, 50.0],
    "reference": "average",
    "montage": "easycap-M1",
    "bads": {"S1": ["C3"]},
    "interpolate": True,
    "reject": {"eeg": 50e-6},
    "resample": 64.0,
}
FEATURES: dict[str, Any] = {
    "participant": "A",
    "phase": "study",
    "kind": "power",
    "file": "A.mat",
    "trials": {"x": 3},
    "channels": [],
    "sfreq": 0.0,
    "tmin": 0.0,
    "samples": 0,
    "bins": 20,
    "features": 6510,
}


def recording(folder: Path, **steps: Any) -> dict[str, Any]:
    """A real recording of two files, imported."""
    files = [exported(make_raw(seed), folder / f"S1_{seed}_raw.fif") for seed in (0, 1)]
    epochs = read("fif", files, preprocessing=steps)
    names = ", ".join(file.name for file in files)
    return summarize(epochs, participant="S1", phase="run", file=names).to_dict()


@pytest.mark.filterwarnings("ignore:S1, ")
def test_it_says_what_was_left_out_and_done(tmp_path: Path) -> None:
    known = recording(tmp_path, **STEPS)
    settings = {"input": {"format": "fif", "preprocessing": STEPS}}
    content = report_content(kind_result(), recordings=(known,), settings=settings)
    table = recordings_table(content)
    assert "Warnings" not in table.columns
    (row,) = table.rows
    cells = dict(zip(table.columns, row.cells, strict=True))
    left = dropped_trials(known)
    assert left["annotated as BAD_blink"] == 2  # one in each file
    assert left["amplitude"] > 0
    assert left.total() + sum(known["trials"].values()) == 28
    assert f"{left['amplitude']} × amplitude" in cells["Left out"]
    assert "2 × annotated as BAD_blink" in cells["Left out"]
    faces, houses = known["trials"]["face"], known["trials"]["house"]
    assert cells["Trials"] == f"{faces} face, {houses} house"
    assert cells["Channels"] == "6, C3 interpolated"
    assert cells["Rate (Hz)"] == "64, recorded at 128"
    assert cells["Epoch (s)"] == "−0.25 to 0.484"
    assert cells["Pass band (Hz)"] == "0.5 to 32"
    steps = ["easycap-M1", "at 0.5 Hz and", "at 40 Hz", "at 25 and 50 Hz", "interpolated", "average"]
    steps += ["above 50 µV (eeg)", "to 64 Hz"]
    found = [table.caption.index(step) for step in steps]
    assert found == sorted(found)
    (line,) = csv.DictReader(io.StringIO(table.content))
    assert (line["trials of face"], line["trials left out"]) == (str(faces), str(left.total()))
    assert (line["bad channels"], line["interpolated channels"]) == ("C3", "C3")
    assert (line["recorded rate (Hz)"], line["rate (Hz)"], line["samples"]) == ("128", "64.0", "48")
    assert line["names of channels"].split() == known["channels"]


@pytest.mark.filterwarnings("ignore:S1, ")
def test_warnings_and_the_file_are_on_the_page(tmp_path: Path) -> None:
    known = {**recording(tmp_path), "warnings": ["Cz is flat", "a trial is there twice"]}
    content = report_content(kind_result(test_bins=None), recordings=(known,))
    write_report(content, tmp_path / "report")
    page = Page((tmp_path / "report/report.html").read_text(encoding="utf-8"))
    assert "Cz is flat; a trial is there twice" in page.text
    assert "tables/recordings.csv" in [link.get("href") for link in page.all("a")]
    (line,) = csv.DictReader((tmp_path / "report/tables/recordings.csv").open(newline="", encoding="utf-8"))
    assert line["warnings"] == "Cz is flat; a trial is there twice"


def test_what_was_not_done_is_not_said() -> None:
    nothing: dict[str, Any] = {
        "input": {"preprocessing": {"highpass": None, "bads": {}, "reject": {}, "interpolate": False}}
    }

    def caption(settings: dict[str, Any]) -> str:
        return recordings_table(
            report_content(kind_result(), recordings=(FEATURES,), settings=settings)
        ).caption

    assert "filtered" in caption(nothing)
    assert "Hz" not in caption(nothing)
    assert caption({}) == caption({"input": {"format": "npz"}})
    assert "as they are" in caption({})
    assert "simulated" in caption({"input": {"format": "simulated"}})


def test_features_that_were_made_elsewhere_have_bins_and_no_channels() -> None:
    table = recordings_table(report_content(kind_result(), recordings=(FEATURES,)))
    assert table.columns == ("Phase", "Format", "Trials", "Left out", "Bins", "Features")
    assert table.rows[0].cells[-2:] == ("20", "6510")
    (line,) = csv.DictReader(io.StringIO(table.content))
    assert (line["trials left out"], line["rate (Hz)"], line["features"]) == ("", "", "6510")
