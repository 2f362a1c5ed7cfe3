"""A file whose ending lies is named for what it is, and what to write in the study is said."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
from eeg_recordings import exported, make_raw, read
from refusal import refusal
from scipy.io import savemat
from test_formats_fieldtrip import raw_struct

from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.formats.files.recognised import recognised
from shortloop.eeg.formats.read import read_features


def npz(file: Path) -> Path:
    np.savez(file, X=np.zeros((2, 1, 3)), y=[0, 1], t=np.arange(3.0), ch=["a"])
    return file


def mat(file: Path, **content: object) -> Path:
    savemat(file, content, appendmat=False)
    return file


def text(file: Path, content: str) -> Path:
    file.write_text(content)
    return file


THESIS: dict[str, list[str]] = {"category_name": [], "feature": []}
BRAINVISION = "Brain Vision Data Exchange"
EEGLAB = {"nbchan": 1, "srate": 1.0, "trials": 2}
FILES = {
    "edf": ("edf", lambda at: exported(make_raw(), at / "x.edf"), "EDF"),
    "bdf": ("edf", lambda at: exported(make_raw(), at / "x.bdf"), "BDF"),
    "fif": ("fif", lambda at: exported(make_raw(), at / "x_raw.fif"), "MNE's .fif"),
    "vhdr": ("brainvision", lambda at: exported(make_raw(), at / "x.vhdr"), "a BrainVision header"),
    "set": ("eeglab", lambda at: exported(make_raw(), at / "x.set"), "EEGLAB"),
    "npz": ("npz", lambda at: npz(at / "x.npz"), "arrays of NumPy"),
    "fieldtrip": ("fieldtrip", lambda at: mat(at / "x.mat", data=raw_struct()), "FieldTrip"),
    "features": ("thesis", lambda at: mat(at / "x.mat", x=THESIS), "ready features"),
    "table": ("", lambda at: mat(at / "x.mat", a=1, b=2), "a .mat file with a, b"),
    "erp": ("", lambda at: mat(at / "x.mat", ERP={"bindata": 1}), "averages of ERPLAB"),
    "markers": ("", lambda at: text(at / "x", f"{BRAINVISION} Marker File, Version 1.0"), "markers"),
    "annex": ("", lambda at: text(at / "x", "/annex/objects/MD5E-s1--2.edf\n"), "git-annex"),
    "lfs": ("", lambda at: text(at / "x", "version https://git-lfs.github.com/spec/v1\n"), "Git LFS"),
    "page": ("", lambda at: text(at / "x", "<!DOCTYPE html><html>404</html>"), "a web page"),
}
NEEDED = {"edf": "edfio", "bdf": "edfio", "vhdr": "pybv", "set": "eeglabio", "fieldtrip": "pymatreader"}
# Each is taken for some others.
SAID = [(name, "edf" if FILES[name][0] == "fif" else "fif") for name in FILES]
SAID += [("set", "fieldtrip"), ("fieldtrip", "eeglab"), ("edf", "brainvision"), ("vhdr", "npz")]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "said"), SAID)
def test_it_is_named(tmp_path: Path, name: str, said: str) -> None:
    pytest.importorskip(NEEDED.get(name, "mne"))
    form, make, words = FILES[name]
    made = make(tmp_path)
    liar = tmp_path / {"edf": "s.edf", "fif": "s_raw.fif", "eeglab": "s.set"}.get(said, "s.mat")
    shutil.copy(made, liar)
    with refusal("not of the format that the study says", words, file=liar, expected=said) as caught:
        read(said, [liar])
    hint = str(caught.value.hint)
    assert hint == f'write format = "{form}"' if form else "format" not in hint


def test_recordings_in_place_of_features(tmp_path: Path) -> None:
    file = mat(tmp_path / "x.mat", EEG=EEGLAB)
    settings = InputSettings.model_validate({"format": "thesis", "power": {"run": "x"}})
    with refusal("not of the format", found="EEGLAB", hint='write format = "eeglab"'):
        read_features(settings, file, kind="power", participant="S1", phase="run", classes=("a", "b"))


def test_a_file_of_the_right_format_keeps_its_own_message(tmp_path: Path) -> None:
    file = exported(make_raw(), tmp_path / "x_raw.fif")
    with pytest.raises(InputError, match="channel to drop is not in the file"):
        read("fif", [file], drop=("Qz",))
    packed = tmp_path / "y_raw.fif"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    with refusal("not of the format", found="packed by gzip", hint="unpack it"):
        read("fif", [packed])
    named = tmp_path / "S1.xdf"
    named.write_bytes(b"XDF:" + bytes(200))
    kind = recognised(named)
    assert kind is not None
    assert (kind.name, kind.format) == ("XDF", "xdf")
