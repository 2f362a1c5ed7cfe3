"""Headers that name other files, say too little, or are in another encoding: read, or said what to do."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from edf_files import ANNOTATIONS, signal, write_edf
from eeg_folders import recording, silent
from eeg_recordings import CLASSES, exported, make_raw, read
from handmade_recordings import CODES, write_cnt

from shortloop.base.errors import InputError
from shortloop.eeg.headers.brainvision import pointed_to
from shortloop.eeg.inspect.choose import scan_recordings
from shortloop.eeg.inspect.folder import find_recordings

pytestmark = pytest.mark.filterwarnings("ignore:S1, ", "ignore:S2, ")
EVENTS = {name: [CODES[name]] for name in CLASSES}


def test_renamed_files_of_brainvision_are_said_with_both_names(tmp_path: Path) -> None:
    """The hint works."""
    pytest.importorskip("pybv")
    exported(make_raw(), tmp_path / "rec1.vhdr")
    usual = read("brainvision", [tmp_path / "rec1.vhdr"])
    for ending in (".vhdr", ".vmrk", ".eeg"):
        (tmp_path / f"rec1{ending}").rename(tmp_path / f"S1{ending}")
    with pytest.raises(InputError, match="a file of the recording is missing") as caught:
        read("brainvision", [tmp_path / "S1.vhdr"])
    assert caught.value.found == "no rec1.eeg beside it, but S1.eeg"
    assert "write S1.eeg in place of rec1.eeg in the header" in str(caught.value.hint)
    header = tmp_path / "S1.vhdr"
    header.write_text(header.read_text(encoding="utf-8").replace("rec1.eeg", "S1.eeg"), encoding="utf-8")
    np.testing.assert_array_equal(read("brainvision", [header]).data, usual.data)


@pytest.mark.parametrize("kind", ["int16", "int32"])
def test_neuroscan_whose_header_does_not_say_the_format_of_samples(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "S1.cnt"
    raw = recording("S1", trials=12)
    write_cnt(raw, file)
    usual = read("mne", [file], events=EVENTS)
    content = bytearray(file.read_bytes())
    count, start = len(raw.ch_names), 900 + 75 * len(raw.ch_names)
    if kind == "int32":
        end = start + 2 * count * raw.n_times
        wide = np.frombuffer(content[start:end], "<i2").astype("<i4").tobytes()
        content[start:end] = wide
        end = start + len(wide)
        struct.pack_into("<i", content, 886, end)
        for at in range(end + 9, len(content), 8):  # events count bytes
            struct.pack_into("<l", content, at + 4, 2 * struct.unpack_from("<l", content, at + 4)[0] - start)
    struct.pack_into("<i", content, 864, 0)
    file.write_bytes(content)
    with pytest.raises(InputError, match="whether samples have 2 or 4 bytes") as caught:
        read("mne", [file], events=EVENTS)
    assert f'"{kind}"' in str(caught.value.hint)
    found = read("mne", [file], events=EVENTS, data_format=kind)
    np.testing.assert_array_equal(found.labels, usual.labels)
    np.testing.assert_allclose(found.data, usual.data, rtol=1e-9)


def test_annotations_in_latin_1_are_read(tmp_path: Path) -> None:
    names = {"T1": "Tür", "T2": "Füße", "T0": "Ruhe"}
    notes = [(time, names[name]) for time, name in ANNOTATIONS]
    file = write_edf(tmp_path / "S1.edf", signal(channels=3), annotations=notes)
    wanted = {"face": ["Tür"], "house": ["Füße"]}
    usual = read("edf", [file], events=wanted)
    content = file.read_bytes()
    for name in names.values():
        own, other = name.encode(), name.encode("latin-1")
        content = content.replace(
            b"\x14" + own + b"\x14\0", b"\x14" + other + b"\x14\0" + bytes(len(own) - len(other))
        )
    file.write_bytes(content)
    found = read("edf", [file], events=wanted)
    np.testing.assert_array_equal(found.data, usual.data)
    np.testing.assert_array_equal(found.labels, usual.labels)


def test_a_file_of_annotations_alone_is_called_so(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "S1-Hypnogram.edf", signal(channels=3)[:0], names=[])
    with pytest.raises(InputError, match="annotations alone, and no signal") as caught:
        read("edf", [file])
    assert "_events.tsv" in str(caught.value.hint)


def test_files_that_cannot_be_read_do_not_hide_another_format(tmp_path: Path) -> None:
    """More of them than of the others."""
    for number in (1, 2):
        exported(make_raw(number, seconds=60), tmp_path / f"S{number}_raw.fif")
        for part in ("a", "b"):
            broken = write_edf(tmp_path / f"S{number}{part}.edf", signal(channels=3))
            broken.write_bytes(broken.read_bytes()[:-700])
    looked = scan_recordings(find_recordings(tmp_path, silent), silent)
    assert looked.format == "fif"
    assert looked.other_formats == {"edf": 4}
    assert {path.name for path in looked.folder.problems} == {"S1a.edf", "S1b.edf", "S2a.edf", "S2b.edf"}


@pytest.mark.parametrize("name", ["/", ".", "//"])
def test_a_header_that_names_a_folder_names_no_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / "S1.vhdr"
    file.write_text(f"[Common Infos]\nDataFile={name}\nMarkerFile=S1.vmrk\n", encoding="utf-8")
    assert pointed_to(file) == {"MarkerFile": tmp_path / "S1.vmrk"}
