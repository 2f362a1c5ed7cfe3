"""Files of ready-made features: whose each is, of which phase, and which has the classes of its trials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.eeg.formats.base_features import FeaturesInput
from shortloop.eeg.formats.participants import NAME, alike
from shortloop.eeg.formats.table import TableInput
from shortloop.eeg.looking.names import ONLY, Named, read_names
from shortloop.eeg.looking.words import as_name, words
from shortloop.errors import InputError

if TYPE_CHECKING:
    from shortloop.eeg.looking.looked import Looked

__all__ = ["CALLED", "OF_ARRAYS", "Asked", "files_of_features"]

CALLED = {
    "amplitude": words("amp amplitude amplitudes erp erps voltage"),
    "power": words("pow power powers tfr freq frequency wavelet wavelets spectral"),
}
"""Words in names of files that say which kind of features they hold."""
OF_ARRAYS = words("x y feature features feat feats data label labels class classes target targets")
"""Words in names of files that say which of two arrays they hold."""
ALONE = ".npy"  # ending of files of one array


@dataclass(frozen=True)
class Asked:
    """Features of a participant that are to be looked at.

    Parameters
    ----------
    who : str
        The participant.
    group : str
        What names of files, or the column of phases, say of them; the same for all participants.
    pattern : str
        The file as a study has it.
    file : Path
        The file.
    phase : str
        What the phase is called in the file, if it holds several.
    labels : Path or None
        File of the classes of the trials, if it is another.
    labels_pattern : str
        That as a study has it.
    """

    who: str
    group: str
    pattern: str
    file: Path
    phase: str = ""
    labels: Path | None = None
    labels_pattern: str = ""


def files_of_features(looked: Looked, settings: FeaturesInput) -> list[Asked]:
    """Find out whose each file is.

    Parameters
    ----------
    looked : Looked
        Gets files and participants that are left out.
    settings : FeaturesInput
        How files are read, as far as it is known.

    Returns
    -------
    list of Asked
    """
    files = looked.folder.recordings[looked.format]
    if isinstance(settings, TableInput) and settings.is_of_all():
        return _of_tables(looked, settings, files)
    named = read_names(looked.folder.root, files)
    looked.files_out = named.left_out
    labels = _labels_of(named)
    asked = []
    for who, groups in named.files.items():
        for group in (group for group in groups if group not in labels.values()):
            found, beside = groups[group], groups.get(labels.get(group, ""), [])
            if len(found) > 1:
                looked.out[who] = f"{len(found)} files of {group}: features of a phase are one file"
            elif found[0].suffix.lower() == ALONE and len(beside) != 1:
                looked.out[who] = f"{found[0].name}: no file beside it has a class for each trial"
            else:
                ((pattern,), file) = named.patterns[group], found[0]
                if isinstance(settings, TableInput) and settings.phase is not None:
                    asked += [Asked(who, phase, pattern, file, phase) for phase in _phases(file, settings)]
                else:
                    of_labels = named.patterns[labels[group]][0] if beside else ""
                    of = beside[0] if beside else None
                    asked.append(Asked(who, group, pattern, file, "", of, of_labels))
    return asked


def _labels_of(named: Named) -> dict[str, str]:
    """Of groups of features in files of one array, the group with the classes of their trials."""
    from shortloop.eeg.formats.numpy_files import shape_and_type

    def is_list(file: Path) -> bool:
        with file.open("rb") as stream:
            shape, _ = shape_and_type(stream)
        return sum(length > 1 for length in shape) < 2

    files: dict[str, list[Path]] = {}
    for groups in named.files.values():
        for group, found in groups.items():
            files.setdefault(group, []).extend(found)
    alone = {group: found for group, found in files.items() if all(f.suffix.lower() == ALONE for f in found)}
    labels = [group for group, found in alone.items() if all(map(is_list, found))]
    return {
        group: of
        for group in alone
        if group not in labels
        for of in labels
        if _rest(of, OF_ARRAYS) == _rest(group, OF_ARRAYS.union(*CALLED.values()))
    }


def _rest(group: str, without: Iterable[str]) -> list[str]:
    return [word for word in group.split("-") if word.casefold() not in {*without, ONLY}]


def _of_tables(looked: Looked, settings: TableInput, files: list[Path]) -> list[Asked]:
    """Of files that hold several participants each, by the column that says whose each row is."""
    asked: list[Asked] = []
    for file in files:
        try:
            whose = settings.whose(file)
        except (InputError, ValueError, OSError) as error:
            looked.folder.problems[file] = InputError("the file cannot be read", file=file, found=str(error))
            continue
        pattern = file.relative_to(looked.folder.root).as_posix()
        group = ONLY if len(files) == 1 else as_name("-".join(file.stem.split()), ONLY)
        asked += [Asked(who, phase or group, pattern, file, phase) for who, phase in whose]
    names = dict.fromkeys(one.who for one in asked)
    out = {name: "this cannot be the name of a participant" for name in names if not NAME.fullmatch(name)}
    for some in alike(names):
        out |= {name: f"{' and '.join(some)} differ only by upper and lower case" for name in some}
    looked.out |= out
    return [one for one in asked if one.who not in out]


def _phases(file: Path, settings: TableInput) -> list[str]:
    return [*dict.fromkeys(phase for _, phase in settings.whose(file))]
