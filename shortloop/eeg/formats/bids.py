"""Folders in the Brain Imaging Data Structure (Pernet et al. 2019, Sci. Data 6:103), read by MNE-BIDS
(Appelhoff et al. 2019, J. Open Source Softw. 4(44):1896)."""

from __future__ import annotations

import glob
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import Named, Patterns
from shortloop.eeg.formats.folders import files_in, is_recording
from shortloop.eeg.formats.participants import as_written
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.formats.sizes import declared
from shortloop.errors import InputError

__all__ = ["BidsInput", "recordings_of", "task_of"]

RECORDINGS = (".edf", ".bdf", ".vhdr", ".set", ".fif")
OF_CTF = ".ds"  # recordings that are folders
# Samples and markers of a recording, and all that is said of it.
SIDECARS = ("events", "channels", "electrodes", "coordsystem", "eeg", "ieeg", "meg", "headshape", "markers")
PART = re.compile(r"(_[a-z]+)-\d+$")
AROUND = re.compile(r"^(eeg|pol) |-ref$")
MOST_NAMED = 5  # channels that differ
NO_PARTICIPANTS = ".*participants.tsv.*"


class BidsInput(SignalInput):
    """A BIDS folder. Participants of the study are those of the folder, with or without ``sub-``.

    Events are called as in ``trial_type`` of events.tsv, without it as in ``value``, if `event_column` names
    no other. Types, units and bad channels are those of channels.tsv, positions those of electrodes.tsv.
    """

    places = frozenset({"folder", "tasks", "sessions", "runs"})
    any_kind = True
    format: Literal["bids"] = Field(description="a BIDS folder: EEG, MEG, intracranial EEG")
    tasks: dict[str, str] = Field(
        default_factory=dict, description="task of each phase; default: the name of the phase"
    )
    sessions: dict[str, Patterns] = Field(
        default_factory=dict, description="sessions of each phase; default: all, and those without"
    )
    runs: dict[str, Patterns] = Field(default_factory=dict, description="runs of each phase; default: all")

    def warm_up(self) -> None:
        import mne.io.brainvision
        import mne.io.edf  # noqa: F401
        import mne_bids  # noqa: F401
        import pymatreader  # noqa: F401
        import scipy.io  # noqa: F401

        super().warm_up()

    def find(self, folder: Path, participant: str, phase: str) -> list[Path]:
        own = as_written(folder, f"sub-{participant.removeprefix('sub-')}")
        task = self.tasks.get(phase, phase)
        found = recordings_of(own)
        chosen = [path for path in found if self._is_of(path, task, phase)]
        if chosen:
            return chosen
        seen = sorted({_without_participant(path) for path in found})
        raise InputError(
            f"there is no recording of the {phase} phase",
            participant=participant,
            file=own,
            field=f"input.tasks.{phase}",
            found=", ".join(seen[:20]) or ("no recordings" if folder.is_dir() else "no such folder"),
            expected=f"task-{task}",
            hint="name the tasks (input.tasks), sessions and runs of phases, or leave the participant out",
        )

    def together(self, file: Path) -> Named:
        root = next(above.parent for above in file.parents if re.fullmatch(r"sub-[^_]+", above.name))
        root = root if root.name[:4] != "ses-" else root.parent
        own = [path for _, path in files_in(file)] if file.is_dir() else [file]
        return [(path.relative_to(root).as_posix(), path) for path in [*own, *_beside(file, root)]]

    def declared(self, file: Path, participant: str) -> int:
        """What its format says of it, if that is known; it must be whole then."""
        return declared(file, participant) or super().declared(file, participant)

    def open(self, file: Path, participant: str) -> Any:
        import mne_bids

        path = mne_bids.get_bids_path_from_fname(file, check=False)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=NO_PARTICIPANTS)
            try:
                return mne_bids.read_raw_bids(path)
            except RuntimeError as error:
                if not str(error).startswith("Channel mismatch"):
                    raise
        return _called_as_in_table(path, file, participant)

    def _is_of(self, path: Path, task: str, phase: str) -> bool:
        entities = _entities(path)
        wanted = {"ses": self.sessions.get(phase), "run": self.runs.get(phase)}
        return entities.get("task") == task and all(
            names is None or entities.get(key) in [name.removeprefix(f"{key}-") for name in names]
            for key, names in wanted.items()
        )


def _called_as_in_table(path: Any, file: Path, participant: str) -> Any:
    """A recording whose channels channels.tsv has in another order, or writes in another way, as ``FC5`` for
    ``Fc5.``: MNE-BIDS copies EDF as it is, and writes names into the table that were mended after reading."""
    import mne_bids

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is so
        own: list[str] = mne_bids.read_raw_bids(path, on_ch_mismatch="warn").ch_names
    table = path.find_matching_sidecar(suffix="channels", extension=".tsv")
    lines = [line.split("\t") for line in Path(table).read_text(encoding="utf-8-sig").splitlines() if line]
    said = [line[lines[0].index("name")] for line in lines[1:]]
    if {*own} == {*said}:
        return mne_bids.read_raw_bids(path, on_ch_mismatch="reorder")
    if [*map(_plain, own)] == [*map(_plain, said)]:
        return mne_bids.read_raw_bids(path, on_ch_mismatch="rename")
    differ = [pair for pair in zip(own, said, strict=False) if _plain(pair[0]) != _plain(pair[1])]
    found = ", ".join(f"{mine} in the recording is {other} there" for mine, other in differ[:MOST_NAMED])
    raise InputError(
        "channels.tsv has other channels than the recording",
        participant=participant,
        file=file,
        field=Path(table).name,
        found=found or f"{len(said)} channels, and {len(own)} in the recording",
        expected="the same channels",
        hint="correct the names in the table",
    )


def _plain(name: str) -> str:
    """A channel's name without what systems write around it."""
    return re.sub(r"[^0-9a-z]", "", AROUND.sub("", name.casefold()))


def recordings_of(folder: Path) -> list[Path]:
    """All recordings of a participant.

    Parameters
    ----------
    folder : Path
        The participant's folder, ``sub-LABEL``.

    Returns
    -------
    list of Path
        Sorted.
    """
    return [path for path in sorted(folder.rglob(f"{glob.escape(folder.name)}_*")) if _is_recording(path)]


def task_of(file: Path) -> str:
    """The task that a recording is of.

    Parameters
    ----------
    file : Path
        The recording.

    Returns
    -------
    str
        Empty if its name has none.
    """
    return _entities(file).get("task", "")


def _is_recording(path: Path) -> bool:
    suffix = path.stem.rpartition("_")[2]  # a further part has a number behind it
    split = _entities(path).get("split", "01")
    known = path.suffix in RECORDINGS or (path.suffix == OF_CTF and is_recording(path))
    return suffix == path.parent.name and known and int(split) == 1


def _entities(path: Path) -> dict[str, str]:
    parts = [part.partition("-") for part in _stem(path).split("_")]
    return {key: value for key, dash, value in parts if dash}


def _stem(path: Path) -> str:
    """Its name without its ending, and without the number that MNE gives to a part of a recording."""
    return PART.sub(r"\1", path.name.partition(".")[0])


def _without_participant(path: Path) -> str:
    return re.sub(r"^sub-[^_]+_", "", path.stem)


def _beside(file: Path, root: Path) -> Iterator[Path]:
    """Files that say something of a recording: in its folder and in those above, as BIDS inherits."""
    own = _entities(file)
    yield from (path for path in [root / "dataset_description.json"] if path.is_file())
    for folder in [each for each in file.parents if each == root or root in each.parents]:
        for path in sorted(folder.iterdir()):
            if path == file or not path.is_file():
                continue
            said = _entities(path)
            suffix = _stem(path).rpartition("_")[2]
            free = {"space", "split"}
            if suffix in SIDECARS and all(own.get(key) == said[key] for key in said.keys() - free):
                yield path
