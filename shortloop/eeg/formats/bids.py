"""Folders in the Brain Imaging Data Structure, read by MNE-BIDS.

Pernet et al. 2019, Sci. Data 6:103; Appelhoff et al. 2019, J. Open Source Softw. 4(44):1896.
"""

from __future__ import annotations

import glob
import json
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.checks.participants import as_written, key_of, natural
from shortloop.eeg.formats.epochs.settings import events_beside
from shortloop.eeg.formats.files.delimited import NO_EVENT, dialect_of, numbers, read_table
from shortloop.eeg.formats.files.find import Named, files_in, is_recording
from shortloop.eeg.formats.recording_format import Patterns
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.edf import in_its_encoding

RECORDINGS = (".edf", ".bdf", ".vhdr", ".set", ".fif")
OF_CTF = ".ds"  # recordings that are folders
# Suffixes of files that describe a recording.
SIDECARS = ("events", "channels", "electrodes", "coordsystem", "eeg", "ieeg", "meg", "headshape", "markers")
PART = re.compile(r"(_[a-z]+)-\d+$")
AROUND = re.compile(r"^(eeg|pol) |-ref$")
MOST_NAMED = 5  # channels or recordings that differ
JOINED = {"sub", "task", "ses", "run", "split"}  # entities of recordings that are parts of one
NO_PARTICIPANTS = ".*participants.tsv.*"


class BidsInput(SignalInput):
    """A BIDS folder. Participants of the study are those of the folder, with or without ``sub-``.

    Events are called as in ``trial_type`` of events.tsv, without it as in ``value``, if `event_column` names
    no other. Types, units and bad channels are those of channels.tsv, positions those of electrodes.tsv.
    """

    places = frozenset({"folder", "tasks", "sessions", "runs", "entities"})
    any_kind = True
    format: Literal["bids"] = Field(description="a BIDS folder: EEG, MEG, intracranial EEG")
    tasks: dict[str, str] = Field({}, description="task of each phase; default: the name of the phase")
    sessions: dict[str, Patterns] = Field({}, description="sessions of each phase; default: all")
    runs: dict[str, Patterns] = Field({}, description="runs of each phase; default: all")
    entities: dict[str, dict[str, Patterns]] = Field(
        {},
        description='recordings of each phase by other entities, as entities.test.acq = ["hd"], or by '
        "datatype or extension; listed ones are joined, '' are those without; default: all must agree",
    )

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
        if chosen := [path for path in found if self._is_of(path, task, phase)]:
            said = {*self.entities.get(phase, {}), *["run"] * (phase in self.runs)}
            _refuse_versions(chosen, said, participant, phase)
            return chosen
        seen = sorted({_without_participant(path) for path in found})
        raise InputError(
            f"no recording of the {phase} phase",
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
        named = [(path.relative_to(root).as_posix(), path) for path in [*own, *_beside(file, root)]]
        # The closest table of events is the recording's own, also where BIDS inherits it.
        tables = [path for _, path in named if _stem(path).endswith("events") and path.suffix == ".tsv"]
        if tables and not events_beside(file):
            own_name = file.with_name(f"{_stem(file).rpartition('_')[0]}_events.tsv")
            named = [(name, path) for name, path in named if path not in tables]
            closest = max(tables, key=lambda path: len(path.parts))
            named.append((own_name.relative_to(root).as_posix(), closest))
        return named

    def open(self, file: Path, participant: str) -> Any:
        import mne_bids

        from shortloop.eeg.formats.epochs.events import name_by_events

        path = mne_bids.get_bids_path_from_fname(file, check=False)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=NO_PARTICIPANTS)
            if events_beside(file):  # it is read again
                warnings.filterwarnings("ignore", message="Omitted .* annotation")
            try:
                return in_its_encoding(lambda **more: mne_bids.read_raw_bids(path, extra_params=more))
            except (ValueError, IndexError):
                _refuse_events(file)
                raise
            except RuntimeError as error:
                if "read_epochs_bids" in str(error):  # its sidecar calls it epoched
                    epochs = mne_bids.read_epochs_bids(path)
                    return name_by_events(epochs, file) if file.suffix == ".set" else epochs
                if not str(error).startswith("Channel mismatch"):
                    raise
        return _named_as_in_table(path)

    def _is_of(self, path: Path, task: str, phase: str) -> bool:
        labels = _labels(path)
        asked = {"ses": self.sessions.get(phase), "run": self.runs.get(phase), **self.entities.get(phase, {})}
        return labels.get("task") == task and all(
            names is None or labels.get(key, "") in [name.removeprefix(f"{key}-") for name in names]
            for key, names in asked.items()
        )


def _refuse_events(file: Path) -> None:
    """Raise InputError if MNE-BIDS cannot read the table of events."""
    import numpy as np

    for table in events_beside(file):
        if (dialect := dialect_of(table)) is None or "onset" not in dialect.names:
            continue
        onsets = read_table(table, dialect)["onset"]
        wrong = np.flatnonzero(np.isnan(numbers(onsets, ".")) & ~onsets.isin(NO_EVENT))
        if dialect.separator != "\t" or len(wrong):
            found = "'" + onsets.iloc[wrong[0]] + f"' in line {wrong[0] + 2}" if len(wrong) else "no tabs"
            problem = "the table of events does not follow BIDS"
            field = "input.event_column"
            expected = "tabs between columns, and in each row an onset in s, as 1.5, or n/a"
            raise InputError(problem, field=field, found=f"{table.name}: {found}", expected=expected)


def _named_as_in_table(path: Any) -> Any:
    """Read a recording with other order or spelling of channels in channels.tsv, as ``FC5`` for ``Fc5.``."""
    import mne_bids

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the mismatch
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
    problem = "channels.tsv has other channels than the recording"
    what = found or f"{len(said)} channels, and {len(own)} in the recording"
    raise InputError(problem, field=Path(table).name, found=what, hint="correct the names in the table")


def _plain(name: str) -> str:
    """Reduce a channel's name to letters and digits, without prefixes and suffixes of systems."""
    return re.sub(r"[^0-9a-z]", "", AROUND.sub("", name.casefold()))


def recordings_of(folder: Path) -> list[Path]:
    found = sorted(folder.rglob(f"{glob.escape(folder.name)}_*"), key=lambda path: (natural(str(path)), path))
    return [
        path
        for path in found
        if (path.suffix in RECORDINGS or (path.suffix == OF_CTF and is_recording(path)))
        and path.stem.rpartition("_")[2] == path.parent.name  # further parts have a number after it
        and int(entities_of(path).get("split", "01")) == 1
    ]


def versions_of(files: Sequence[Path]) -> dict[str, list[str]]:
    """Find entities, other than run, in which recordings of one task differ."""
    labels = [_labels(path) for path in files]
    keys = sorted({key for each in labels for key in each} - JOINED)
    found = {key: sorted({each.get(key, "") for each in labels}) for key in keys}
    differ = {key: values for key, values in found.items() if len(values) > 1}
    runs = [(each.get("ses", ""), each.get("run", "").lstrip("0")) for each in labels]
    whole = {session for session, run in runs if not run}
    if not differ and (len({*runs}) < len(runs) or any(run and session in whole for session, run in runs)):
        return {"run": sorted(sorted({each.get("run", "") for each in labels}), key=natural)}
    return differ


def first_version(files: Sequence[Path], versions: Mapping[str, Sequence[str]]) -> list[Path]:
    """Choose recordings of the first of several versions."""
    first = _first(versions)
    return [path for path in files if all(_labels(path).get(key, "") in first[key] for key in first)]


def choosing(phase: str, versions: Mapping[str, Sequence[str]]) -> str:
    """Write the setting that chooses the first of several versions of recordings."""
    lists = {key: json.dumps(values) for key, values in _first(versions).items()}
    if [*lists] == ["run"]:
        return f"runs.{key_of(phase)} = {lists['run']}"
    return f"entities.{key_of(phase)} = {{{', '.join(f'{key} = {values}' for key, values in lists.items())}}}"


def _first(versions: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Choose the first version; of runs all with a number of their own."""
    first = {key: [*values][:1] for key, values in versions.items()}
    if "run" in first:
        numbers = {run.lstrip("0"): run for run in reversed(versions["run"]) if run}
        first["run"] = sorted(numbers.values(), key=natural)
    return first


def _refuse_versions(files: Sequence[Path], said: Collection[str], participant: str, phase: str) -> None:
    """Refuse to join recordings if one may be a version of another, such as a filtered one."""
    versions = {key: values for key, values in versions_of(files).items() if key not in said}
    if not versions:
        return
    raise InputError(
        f"recordings of the {phase} phase are not runs of one another",
        participant=participant,
        file=files[0].parent,
        field=f"input.runs.{phase}" if "run" in versions else f"input.entities.{phase}",
        found=", ".join(_without_participant(path) + path.suffix for path in files[:MOST_NAMED]),
        expected="recordings that differ in session and run alone: two versions of one recording would have "
        "each trial in training and held-out trials alike",
        hint=f"choose one, as {choosing(phase, versions)} under [input]; several that are listed are joined",
    )


def entities_of(path: Path) -> dict[str, str]:
    parts = [part.partition("-") for part in _stem(path).split("_")]
    return {key: value for key, dash, value in parts if dash}


def _labels(path: Path) -> dict[str, str]:
    """Return entities, datatype and extension of a recording."""
    return {**entities_of(path), "datatype": path.parent.name, "extension": path.suffix}


def _stem(path: Path) -> str:
    """Return the name without its ending, and without the number of a part of a recording."""
    return PART.sub(r"\1", path.name.partition(".")[0])


def _without_participant(path: Path) -> str:
    return re.sub(r"^sub-[^_]+_", "", path.stem)


def _beside(file: Path, root: Path) -> Iterator[Path]:
    """Find files that describe a recording in its folder and in those above, as BIDS inherits them."""
    own = entities_of(file)
    yield from (path for path in [root / "dataset_description.json"] if path.is_file())
    for folder in [each for each in file.parents if each == root or root in each.parents]:
        for path in sorted(folder.iterdir()):
            if path == file or not path.is_file():
                continue
            said = entities_of(path)
            suffix = _stem(path).rpartition("_")[2]
            free = {"space", "split"}
            if suffix in SIDECARS and all(own.get(key) == said[key] for key in said.keys() - free):
                yield path
