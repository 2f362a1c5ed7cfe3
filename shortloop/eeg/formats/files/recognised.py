"""Recognise what a file is from its first bytes, not from its name."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.eeg.formats.files.find import is_recording
from shortloop.eeg.formats.recording_format import InputSettings
from shortloop.eeg.headers.mat import is_hdf5, variables


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    name: str
    format: str = ""  # format of a study that reads it; empty: none
    hint: str = ""  # what to do, if the format alone does not help
    vague: bool = False  # True if other formats that read such files can explain more


POINTER = "fetch its content: git annex get, datalad get or git lfs pull"
ONE_ARRAY = "one array of NumPy"
SAVED_TOGETHER = (
    'save X, y, t and ch together with numpy.savez; if these are ready-made features, write format = "arrays"'
)
ARCHIVE = b"PK\3\4"
STARTS = (
    (b"0       ", Kind("EDF", "edf")),
    (b"\xffBIOSEMI", Kind("BDF", "edf")),
    (b"\0\0\0\x64\0\0\0\x1f\0\0\0\x14", Kind("MNE's .fif", "fif")),
    (b"Brain Vision Data Exchange Header", Kind("a BrainVision header", "brainvision")),
    (b"BrainVision Data Exchange Header", Kind("a BrainVision header", "brainvision")),
    (b"Brain Vision Data Exchange Marker", Kind("BrainVision markers", hint="name the header, .vhdr")),
    (b"BrainVision Data Exchange Marker", Kind("BrainVision markers", hint="name the header, .vhdr")),
    (ARCHIVE, Kind("arrays of NumPy (.npz), or another archive", "npz")),
    (b"\x93NUMPY", Kind(ONE_ARRAY, "arrays", SAVED_TOGETHER)),
    (b"GDF ", Kind("GDF", "mne")),
    (b"XDF:", Kind("XDF", "xdf")),
    (b"Version 3.", Kind("Neuroscan CNT", "mne")),
    ((b"RIFF", b"RF64"), Kind("ANT CNT", "mne")),
    (b"[FileInfo]", Kind("Persyst", "mne")),
    ((b"BCI2000V=", b"HeaderLen="), Kind("BCI2000", "mne")),
    (b"version https://git-lfs", Kind("a pointer of Git LFS", hint=POINTER)),
    ((b"/annex/objects/", b"../.git/annex"), Kind("a pointer of git-annex", hint=POINTER)),
    ((b"<!DOCTYPE", b"<html"), Kind("a web page", hint="download the file itself")),
    (b"\x1f\x8b", Kind("packed by gzip", hint="unpack it")),
    (
        (b"\x80\x04\x95", b"\x80\x05\x95"),
        Kind("a Python pickle", hint="save X, y, t and ch with numpy.savez"),
    ),
)
# Kinds that first bytes do not tell: endings of the file and of one that is always beside it.
PAIRS = (
    (".eeg", ".pnt", Kind("Nihon Kohden", "mne")),
    (".data", ".head", Kind("Nicolet", "mne")),
    (".cdt", ".cdt.dpa", Kind("Curry", "mne")),
    (".cdt", ".cdt.dpo", Kind("Curry", "mne")),
    (".dat", ".dap", Kind("Curry", "mne")),
)
OF_KIT = (".con", ".sqd")
OF_MATLAB = ("eeglab", "fieldtrip", "thesis")
OF_NUMPY = ("npz", "arrays")
EEGLAB = {"nbchan", "srate", "chanlocs", "pnts"}


def recognised(file: Path) -> Kind | None:
    """Recognise a file; None if it is unknown."""
    if is_recording(file):
        return Kind(f"a folder {file.suffix.lower()}", "mne")
    with file.open("rb") as stream:
        start = stream.read(64)
    if start.startswith(ARCHIVE) and _is_of_features(file):
        return Kind("ready features in arrays", "arrays", vague=True)
    for prefixes, kind in STARTS:
        if start.startswith(prefixes):
            return kind
    if start.startswith(b"MATLAB ") or is_hdf5(file):
        return _of_matlab(file)
    # KIT begins with a table of its parts, of 16 bytes each.
    size, room, count = (int.from_bytes(start[at : at + 4], "little") for at in (4, 8, 12))
    if file.suffix.lower() in OF_KIT and size == 16 and 9 < count <= room <= 1024:
        return Kind("KIT", "mne")
    return _of_a_pair(file)


def _is_of_features(file: Path) -> bool:
    """True if an archive has features and classes, but not all arrays of epochs."""
    with contextlib.suppress(zipfile.BadZipFile, ValueError, OSError):
        names = {name.removesuffix(".npy") for name in zipfile.ZipFile(file).namelist()}
        return {"X", "y"} <= names and not {"t", "ch"} <= names
    return False


def _of_a_pair(file: Path) -> Kind | None:
    ending = file.suffix.lower()
    others = {other: kind for own, other, kind in PAIRS if own == ending}
    beside = {path.name.lower() for path in file.parent.iterdir()} if others else set()
    stem = file.name[: -len(ending)].lower() if ending else ""
    return next((kind for other, kind in others.items() if stem + other in beside), None)


def _of_matlab(file: Path) -> Kind:
    names = variables(file)
    if "EEG" in names or set(names) >= EEGLAB:
        return Kind("EEGLAB", "eeglab")
    if "ERP" in names:
        return Kind("averages of ERPLAB", hint="export the epochs, before they are averaged")
    fields = _fields(file, names)
    if {"label", "time"} <= fields:
        return Kind("FieldTrip", "fieldtrip")
    if {"category_name", "feature"} <= fields:
        return Kind("ready features", "thesis")
    what = f"a .mat file with {', '.join(names[:8]) or 'nothing'}"
    return Kind(what, hint="save trials by FieldTrip or EEGLAB", vague=True)


def _fields(file: Path, names: list[str]) -> set[str]:
    if is_hdf5(file):
        import h5py

        with h5py.File(file) as content:
            groups = [content[name] for name in names if isinstance(content[name], h5py.Group)]
            return set(groups[0]) if groups else set()
    from scipy.io import loadmat, whosmat

    structs = [name for name, _, kind in whosmat(str(file), appendmat=False) if kind == "struct"]
    if not structs:
        return set()
    return set(loadmat(file, variable_names=structs[:1], appendmat=False)[structs[0]].dtype.names)


@contextlib.contextmanager
def explain_other_format(file: Path, settings: InputSettings) -> Iterator[None]:
    """If reading fails, say what the file is, if the study names another format that reads one kind."""
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        kind, wanted = None, str(getattr(settings, settings.tag))
        with contextlib.suppress(Exception):  # then the first error counts
            kind = recognised(file)
        if settings.any_kind or kind is None or kind.format == wanted:
            raise
        if kind.vague and wanted in (OF_NUMPY if kind.format in OF_NUMPY else OF_MATLAB):
            raise
        problem = "the file is not of the format that the study says"
        hint = kind.hint or f'write format = "{kind.format}"'
        raise InputError(problem, field="input.format", found=kind.name, expected=wanted, hint=hint) from None
