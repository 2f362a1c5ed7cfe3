"""Recordings with other channels: each way out that the message names is followed, and works."""

from __future__ import annotations

import re
from pathlib import Path

import mne
import numpy as np
import pytest
from eeg_folders import recording, silent

from shortloop.eeg.inspect.check_study import open_all

STUDY = """\
name = "channels"
participants = ["P1", "P2", "P3"]
classes = ["face", "house"]
phases.train = "study"
[input]
format = "fif"
folder = "."
files.study = ["{participant}_raw.fif"]
tmin = -0.2
tmax = 0.8
EXTRA
[features.amplitude]
start = 0.0
bins = 2
bin_samples = 4
"""


def recordings(folder: Path, odd: str) -> None:
    for who in ("P1", "P2", "P3"):
        raw = recording(who)
        raw.set_montage("standard_1020", on_missing="ignore", verbose="ERROR")
        if who == "P3" and odd == "bad":
            raw.info["bads"] = ["Cz", "P3"]
        elif who == "P3" and odd == "missing":
            raw.drop_channels(["Cz", "P3"])
        elif who == "P3":
            raw.reorder_channels(raw.ch_names[::-1])
        raw.save(folder / f"{who}_raw.fif", verbose="ERROR")


def opened(folder: Path, extra: str = ""):  # type: ignore[no-untyped-def]
    (folder / "study.toml").write_text(STUDY.replace("EXTRA", extra), encoding="utf-8")
    return open_all(folder / "study.toml", silent)


@pytest.mark.parametrize(
    ("odd", "offered"),
    [("bad", ["drop", "preprocessing.interpolate"]), ("missing", ["picks"]), ("order", ["picks"])],
)
def test_each_way_out_works(tmp_path: Path, odd: str, offered: list[str]) -> None:
    recordings(tmp_path, odd)
    (problem,) = opened(tmp_path).problems
    assert problem.where["participant"] == "P3"
    ways = re.findall(r"input\.([\w.]+) = (\[.*?\]|true)", str(problem.hint))
    assert [name for name, _ in ways] == offered
    for name, value in ways:
        assert opened(tmp_path, f"{name} = {value}").problems == ()


def test_channels_in_another_order_are_the_same_channels(tmp_path: Path) -> None:
    from eeg_recordings import read

    recordings(tmp_path, "order")
    (problem,) = opened(tmp_path).problems
    names = re.findall(r"'(\w+)'", str(problem.hint))
    found = read("fif", [tmp_path / "P3_raw.fif"], participant="P3", picks=tuple(names))
    raw = mne.io.read_raw_fif(tmp_path / "P3_raw.fif", preload=True, verbose="ERROR")
    events, ids = mne.events_from_annotations(raw, verbose="ERROR")
    ids = {name: ids[name] for name in ("face", "house")}
    expected = mne.Epochs(raw, events, ids, -0.25, 0.5, baseline=None, preload=True, verbose="ERROR")
    assert found.channels == tuple(names)
    np.testing.assert_array_equal(found.data, expected.get_data(picks=names))
