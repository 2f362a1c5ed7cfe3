"""Warnings of recordings that are read by links name no folder of the links, which is another each time."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from eeg_recordings import make_raw, read

from shortloop.eeg.formats.bids import BidsInput

mne_bids = pytest.importorskip("mne_bids")


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("pybv")
    path = mne_bids.BIDSPath(subject="01", task="study", root=tmp_path, datatype="eeg")
    raw = make_raw(0)
    raw.info["line_freq"] = 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mne_bids.write_raw_bids(raw, path, allow_preload=True, format="BrainVision", verbose="ERROR")
    for table in tmp_path.rglob("*_channels.tsv"):
        table.unlink()
    said = []
    for _ in range(2):
        with warnings.catch_warnings(record=True, action="always") as caught:
            read("bids", BidsInput(format="bids").find(tmp_path, "01", "study"), participant="01")
        said.append([str(each.message) for each in caught])
    assert any("channels.tsv" in each for each in said[0]), said
    assert not [each for each in said[0] if "/shortloop-" in each]
    assert said[0] == said[1]
