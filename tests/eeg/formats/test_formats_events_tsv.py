"""Tables of events: what is wrong in which row is said, and what the message says to do cures it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_folders import proposed, silent
from eeg_recordings import exported, make_raw, read

from shortloop.base.errors import InputError
from shortloop.eeg.formats.bids import BidsInput
from shortloop.eeg.formats.read import read_epochs
from shortloop.eeg.inspect.check_study import open_all
from shortloop.eeg.study.load import read_study

RATE, SECONDS = 128.0, 60
ONSETS = 1.5 + 1.375 * np.arange(40)  # whole samples
NAMES = ["face", "house"] * 20
AT = np.round(ONSETS * RATE).astype(int)


def raw(seed: int = 3) -> mne.io.BaseRaw:
    return make_raw(seed, RATE, SECONDS).set_annotations(None)


def rows(onsets: Any, header: str = "onset\tduration\ttrial_type", separator: str = "\t") -> str:
    lines = [header] + [f"{at}\t0\t{name}" for at, name in zip(onsets, NAMES, strict=True)]
    return "\n".join(lines).replace("\t", separator) + "\n"


def recorded(folder: Path, table: str | bytes) -> Path:
    """A recording with a table of events beside it."""
    file = exported(raw(), folder / "S1_raw.fif")
    data = table.encode() if isinstance(table, str) else table
    (folder / "S1_raw_events.tsv").write_bytes(data)
    return file


def in_bids(folder: Path, table: str, *, inherited: bool = False, who: str = "01") -> Path:
    file = folder / f"sub-{who}/eeg/sub-{who}_task-look_eeg.edf"
    file.parent.mkdir(parents=True)
    exported(raw(int(who)).drop_channels(["VEOG"]), file)
    (folder / "dataset_description.json").write_text(json.dumps({"Name": "x", "BIDSVersion": "1.8.0"}))
    beside = folder if inherited else file.parent
    name = "task-look_events.tsv" if inherited else f"sub-{who}_task-look_events.tsv"
    (beside / name).write_text(table, encoding="utf-8")
    return file


def epochs_of(file: Path, **settings: Any) -> Any:
    if file.suffix == ".fif":
        return read("fif", [file], **settings)
    given = BidsInput.model_validate({"format": "bids", "tmin": -0.25, "tmax": 0.5, **settings})
    return read_epochs(given, [file], participant="01", phase="look", classes=["face", "house"])


def assert_samples(epochs: Any, kept: slice | list[int] = slice(None)) -> None:
    """Epochs are where the events are, to the sample."""
    np.testing.assert_array_equal(np.round(epochs.trial_info["onset"].astype(float) * RATE), AT[kept])
    assert epochs.labels.tolist() == np.array([0, 1] * 20)[kept].tolist()


@pytest.mark.parametrize(
    ("unit", "onsets"), [("ms", (ONSETS * 1000).round(3)), ("samples", AT), ("samples", AT.astype(float))]
)
@pytest.mark.parametrize("bids", [False, True])
def test_onsets_in_another_unit_are_refused_and_the_hint_cures_it(
    tmp_path: Path, unit: str, onsets: Any, bids: bool
) -> None:
    """All 40 trials were lost with a note of what MNE omits."""
    file = (in_bids if bids else recorded)(tmp_path, rows(onsets))
    with pytest.raises(InputError, match=f"onsets seem to be in {unit}") as caught:
        epochs_of(file)
    assert "40 of 40 events" in str(caught.value)
    assert caught.value.hint is not None
    line = re.findall(r"write (event_unit = \"\w+\")", caught.value.hint)[0]
    assert tomllib.loads(line) == {"event_unit": unit}
    assert_samples(epochs_of(file, event_unit=unit))


def test_a_table_of_a_longer_recording_is_refused(tmp_path: Path) -> None:
    file = recorded(tmp_path, rows(ONSETS + 90))
    with pytest.raises(InputError, match="after the end of the recording") as caught:
        epochs_of(file)
    late = recorded(tmp_path, rows(np.r_[ONSETS[:30], ONSETS[30:] + 40]))  # a few are MNE's to leave out
    assert len(epochs_of(late).labels) == 30
    with pytest.raises(InputError, match=r"after the end of the recording\n") as caught:
        epochs_of(recorded(tmp_path, rows(ONSETS + 1e7)))
    assert "look whether the table is of this recording" in str(caught.value)


@pytest.mark.parametrize("bids", [False, True])
@pytest.mark.parametrize("nothing", ["n/a", "", "NaN"])
def test_events_without_an_onset_are_left_out_and_told_of(tmp_path: Path, bids: bool, nothing: str) -> None:
    texts = [nothing if at in (7, 9) else str(onset) for at, onset in enumerate(ONSETS)]
    file = (in_bids if bids else recorded)(tmp_path, rows(texts))
    with pytest.warns(UserWarning, match=r"without an onset .*events.tsv, line 9 \('house'\), line 11"):
        epochs = epochs_of(file)
    assert_samples(epochs, [at for at in range(40) if at not in (7, 9)])


def test_rows_without_an_event_need_no_onset(tmp_path: Path) -> None:
    table = rows(ONSETS) + "n/a\t0\tn/a\nlater\t0\t\n"
    assert_samples(epochs_of(recorded(tmp_path, table)))


@pytest.mark.parametrize("bids", [False, True])
def test_an_onset_that_is_no_number_is_named_with_its_line(tmp_path: Path, bids: bool) -> None:
    texts = ["0:01:30" if at == 4 else str(onset) for at, onset in enumerate(ONSETS)]
    with pytest.raises(InputError) as caught:
        epochs_of((in_bids if bids else recorded)(tmp_path, rows(texts)))
    assert "events.tsv: " in str(caught.value)
    assert "line 6" in str(caught.value)
    assert "0:01:30" in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n", "onset\tduration\ttrial_type\n", "onset\ttrial_type\n1\tn/a\n"])
def test_a_table_without_events_is_named(tmp_path: Path, text: str) -> None:
    file = recorded(tmp_path, text)
    with pytest.raises(InputError, match="the recording has no events") as caught:
        epochs_of(file)
    assert "no row with an onset and an event in S1_raw_events.tsv" in str(caught.value)
    annotated = make_raw(3, RATE, SECONDS)
    annotated.set_annotations(mne.Annotations(ONSETS, 0.0, NAMES))
    exported(annotated, file)
    assert_samples(epochs_of(file))  # those of the recording are taken


@pytest.mark.parametrize(
    ("separator", "change", "encoding"),
    [
        ("\t", ("", ""), "utf-16"),
        (",", ("", ""), "utf-8-sig"),
        (";", (".", ","), "cp1252"),
        ("\t", (".", ","), "utf-8"),
    ],
)
def test_tables_of_other_programs(
    tmp_path: Path, separator: str, change: tuple[str, str], encoding: str
) -> None:
    texts = [str(onset).replace(*change) for onset in ONSETS]
    table = rows(texts, separator=separator).replace("house", "Häuser")
    epochs = epochs_of(
        recorded(tmp_path, table.encode(encoding)), events={"face": ["face"], "house": ["Häuser"]}
    )
    assert_samples(epochs)


def test_a_table_that_all_inherit_is_checked_as_well(tmp_path: Path) -> None:
    file = in_bids(tmp_path, rows(AT), inherited=True)
    with pytest.raises(InputError, match="onsets seem to be in samples"):
        epochs_of(file)
    assert_samples(epochs_of(file, event_unit="samples"))
    (tmp_path / "task-look_events.tsv").write_text(rows(ONSETS), encoding="utf-8")
    assert_samples(epochs_of(file))


def test_tables_in_latin_1(tmp_path: Path) -> None:
    file = in_bids(tmp_path, rows(ONSETS))
    table = rows(ONSETS).replace("house", "Häuser").encode("latin-1")
    file.with_name("sub-01_task-look_events.tsv").write_bytes(table)
    lines = ["name\ttype\tunits", *(f"{name}\tEEG\tµV" for name in ("Fz", "Cz", "Pz", "Oz", "C3", "C4"))]
    file.with_name("sub-01_task-look_channels.tsv").write_bytes("\n".join(lines).encode("latin-1"))
    (tmp_path / "participants.tsv").write_bytes("participant_id\tname\nsub-01\tJürgen\n".encode("latin-1"))
    assert_samples(epochs_of(file, events={"face": ["face"], "house": ["Häuser"]}))
    found = proposed(tmp_path, tmp_path / "study")
    assert "40 × Häuser" not in found.lines
    assert "Häuser" in found.settings


@pytest.mark.parametrize("unit", ["ms", "samples"])
def test_init_asks_for_the_unit(tmp_path: Path, unit: str) -> None:
    for who in ("01", "02"):
        in_bids(tmp_path / "data", rows(ONSETS * 1000 if unit == "ms" else AT), who=who)
    found = proposed(tmp_path / "data", tmp_path / "study")
    (question, *_) = found.questions
    assert f"Which unit do onsets of events have in the tables? Found: {unit}" in question
    lines = found.settings.splitlines()
    at = int(question.split("Line ")[1].split()[0]) - 1
    assert lines[at].startswith(f'# event_unit = "{unit}"')
    lines[at] = lines[at].removeprefix("# ")
    file = tmp_path / "study/study.toml"
    file.parent.mkdir()
    file.write_text("\n".join(lines), encoding="utf-8")
    assert read_study(file).classes == ("face", "house")
    assert [each.problem for each in open_all(file, silent).problems] == []


def test_a_row_too_long_is_found_in_the_table_and_the_recording_is_named(tmp_path: Path) -> None:
    """Not the link under which the recording is read, in a folder that is gone by then."""
    file = recorded(tmp_path, rows(ONSETS).replace("house\n", "house\t1\n", 1))
    with pytest.raises(InputError, match="a row has more values") as caught:
        epochs_of(file)
    assert caught.value.file == str(file)
    assert "line 3, 3 names in line 1 of S1_raw_events.tsv" in str(caught.value.found)
