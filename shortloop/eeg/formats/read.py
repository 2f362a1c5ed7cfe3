"""Read and check recordings of any format, each in a process of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from os.path import getsize
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray
from shortloop.eeg.checks.recording import check_epochs, check_features
from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.formats.files.find import Named, linked, recording_of
from shortloop.eeg.formats.files.process import located, read_apart, reading, start_reading
from shortloop.eeg.formats.files.recognised import explain_other_format
from shortloop.eeg.formats.recording_format import (
    FeaturesInput,
    Found,
    GeneratedInput,
    InputSettings,
    Part,
    RecordedInput,
)
from shortloop.eeg.formats.sessions import join

T = TypeVar("T")
BESIDE_BYTES = 4  # in memory, of samples of two bytes as doubles, for each byte of a file beside a recording
MONOTONE = 16  # trials; the chance that so many are in order is 1e-13 per feature
FEWEST = 10  # trials; in fewer, two values may match two classes by chance


def read_epochs(
    settings: InputSettings,
    recordings: Sequence[Path | Named],
    *,
    participant: str,
    phase: str,
    classes: Sequence[str],
    seed: int = 0,
    training: bool = True,
) -> Epochs:
    """Read and check one participant's epochs in one phase.

    Parameters
    ----------
    settings : GeneratedInput or RecordedInput
        The study's input.
    recordings : sequence of Path, or of lists of (str, Path)
        Recordings of the phase, or the named files of each; none for those that are generated.
    participant, phase : str
        Whose and of which phase.
    classes : sequence of str
        Classes of the study.
    seed : int, default 0
        The study's seed; only generated recordings depend on it.
    training : bool, default True
        Whether this is the phase that trains; only generated recordings depend on it.

    Returns
    -------
    Epochs

    Raises
    ------
    InputError
        If anything is wrong that a later stage would trip over.
    """
    who = {"participant": participant, "phase": phase}
    if isinstance(settings, GeneratedInput):
        with located(participant, None):
            epochs = settings.generate(**who, classes=classes, seed=seed, training=training)
            check_epochs(epochs, **who)
        return epochs
    if not isinstance(settings, RecordedInput):
        problem = "input has features, not epochs"
        raise InputError(problem, field="input.format", hint="read it with read_features")
    settings = settings.of_phase(phase)
    if not recordings:
        problem = f"there are no files of the {phase} phase"
        raise InputError(problem, participant=participant, field="input.files")
    settings.warm_up()  # not in the reading process: all files then share the loaded libraries
    named = [settings.together(each) if isinstance(each, Path) else each for each in recordings]

    def joined(parts: list[Part]) -> Epochs:
        with located(participant, ", ".join(str(part.file) for part in parts)):
            epochs = join(parts, **who, classes=classes)
            check_epochs(epochs, **who)
        return epochs

    return read_parts(settings, named, participant, classes, joined)


def read_parts(
    settings: RecordedInput,
    recordings: Sequence[Named],
    participant: str,
    classes: Sequence[str],
    finish: Callable[[list[Part]], T],
) -> T:
    """Read recordings in a process of their own, and return what `finish` makes of their epochs there."""
    files = [_own_header(recording) for recording in recordings]
    with linked(recordings) as places:

        def declared(file: Path, participant: str) -> int:
            # At its place among its own files: several recordings may share one header.
            found = [place for each, place in zip(files, places, strict=True) if each == file]
            sizes = [] if found else [BESIDE_BYTES * file.stat().st_size]
            for place in found:
                with reading(file, participant), explain_other_format(file, settings):
                    sizes.append(settings.declared(place, participant))
            return sum(sizes)

        def read() -> T:
            parts = []
            for file, place in zip(files, places, strict=True):
                with reading(file, participant), explain_other_format(file, settings):
                    parts.append(replace(settings.read_part(place, participant, classes), file=file))
            return finish(parts)

        others = [path for recording in recordings for _, path in recording[1:]]
        everything = list(dict.fromkeys([*files, *others]))
        return read_apart(read, everything, participant=participant, declared=declared)


def read_features(
    settings: InputSettings,
    file: Path,
    labels: Path | None = None,
    *,
    kind: str,
    participant: str,
    phase: str,
    classes: Sequence[str],
    allocate: Callable[[tuple[int, ...]], FloatArray] = np.empty,
) -> Features:
    """Read and check one participant's ready-made features in one phase.

    Parameters
    ----------
    settings : FeaturesInput
        The study's input.
    file : Path
        File of the features.
    labels : Path, optional
        File of the classes of the trials; default: they are in `file`.
    kind : str
        ``"amplitude"`` or ``"power"``.
    participant, phase : str
        Whose and of which phase.
    classes : sequence of str
        Classes of the study.
    allocate : callable, default numpy.empty
        Makes the array of a shape (bins, trials, features) that is filled, unless the file can be mapped.

    Returns
    -------
    Features

    Raises
    ------
    InputError
        If anything is wrong that a later stage would trip over.
    """
    found = read_features_of_phases(
        settings,
        {phase: [file] if labels is None else [file, labels]},
        kind=kind,
        participant=participant,
        classes=classes,
        allocate=lambda _, shape: allocate(shape),
    )
    return found[phase]


def read_features_of_phases(
    settings: InputSettings,
    files: Mapping[str, Sequence[Path]],
    *,
    kind: str,
    participant: str,
    classes: Sequence[str],
    allocate: Callable[[str, tuple[int, ...]], FloatArray],
) -> dict[str, Features]:
    """Read and check features of all phases at the same time; the second file of a phase has the labels."""
    if not isinstance(settings, FeaturesInput):
        problem = "input has epochs, not features"
        raise InputError(problem, field="input.format", hint="read it with read_epochs")
    settings.warm_up()

    def read(phase: str) -> Features:
        file, *labels = files[phase]
        found = find_trials(settings, file, next(iter(labels), None), participant, phase)
        with reading(file, participant):
            features = _features_of(found, settings, kind, phase, classes, partial(allocate, phase))
        with located(participant, str(file)):
            check_features(features, phase)
        return features

    with ExitStack() as until_read:
        started = {}
        for phase, paths in files.items():
            reader = start_reading(
                partial(read, phase), paths, participant=participant, declared=settings.declared
            )
            started[phase] = until_read.enter_context(reader)
        return {phase: wait() for phase, wait in started.items()}


def find_trials(
    settings: FeaturesInput, file: Path, labels: Path | None, participant: str, phase: str
) -> Found:
    """Read all trials of a participant in a phase; refuse features that are the class, if the format asks."""
    with reading(file, participant), explain_other_format(file, settings):
        found = settings.find_in(file, labels, participant, phase)
        if settings.remedy:
            _refuse_labels_among_features(found, settings.remedy)
    return found


def _features_of(
    found: Found,
    settings: FeaturesInput,
    kind: str,
    phase: str,
    classes: Sequence[str],
    allocate: Callable[[tuple[int, ...]], FloatArray],
) -> Features:
    """Select the trials of a study's classes."""
    names = found.trials
    counts = Counter(names)
    if missing := [name for name in classes if name not in counts]:
        problem = f"the {phase} phase has no trials of {', '.join(missing)}"
        seen = ", ".join(f"{counts[name]} {name}" for name in sorted(counts)) or "no trials"
        expected = f"trials of {', '.join(classes)}"
        hint = "write the classes in the study file as the file spells them"
        raise InputError(problem, field=settings.classes_in, found=seen, expected=expected, hint=hint)
    index = {name: number for number, name in enumerate(classes)}
    chosen = np.array([trial for trial, name in enumerate(names) if name in index], dtype=np.intp)
    span = found.span if len(chosen) == len(names) else None
    if span is not None:
        data = cast("FloatArray", found.cells)
    else:
        data = allocate((len(found.cells), len(chosen), len(found.features)))
        for values, cell in zip(data, found.cells):
            values[:] = cell if len(chosen) == len(names) else cell[chosen]
    return Features(
        data=data,
        labels=np.array([index[names[trial]] for trial in chosen], dtype=np.int64),
        classes=tuple(classes),
        times=np.arange(len(found.cells), dtype=np.float64) if found.times is None else found.times,
        names=found.features,
        kind=kind,
        unit=settings.unit_of(kind),
        time_unit="bin" if found.times is None else "s",
        span=span,
    )


def _own_header(recording: Named) -> Path:
    """Return the file of a recording, for messages."""
    name, file = recording[0]
    if recording_of(file) != file:
        return recording_of(file)
    # The header may be known by the path of another file of the same content; the samples are its own.
    samples = max((path for _, path in recording if path.is_file()), key=getsize, default=file)
    beside = samples.with_name(Path(name).name) if name else file
    return beside if beside.is_file() else file


def _refuse_labels_among_features(found: Found, hint: str) -> None:
    """Refuse features that encode the class, or the order of the trials."""
    if len(found.trials) < FEWEST:
        return
    _, labels = np.unique(found.trials, return_inverse=True)
    for name, values in zip(found.features, np.asarray(found.cells[0]).T):
        if encodes := _what_it_encodes(values, labels):
            problem = f"a feature {encodes}: anybody could tell the classes from it"
            raise InputError(problem, field=name, hint=hint)


def _what_it_encodes(values: np.ndarray, labels: np.ndarray) -> str:
    values = values.astype(np.float64, copy=False)  # differences of unsigned numbers are never below 0
    steps = np.diff(values)
    if steps[0] and (steps == steps[0]).all() and float(steps[0]).is_integer():
        return "counts the trials"
    if len(values) >= MONOTONE and ((steps > 0).all() or (steps < 0).all()):
        return "grows or falls from each trial to the next, as numbers and times of trials do"
    classes = labels.max() + 1
    if classes < 2 or len(np.unique(values[: 2 * FEWEST])) > classes:  # most end here
        return ""
    pairs = len(set(zip(values.tolist(), labels.tolist(), strict=True)))
    different = len(np.unique(values))
    # Two values that stand for more classes, as of 'is_face': in few trials, they could by chance.
    enough = different == classes or (different > 1 and len(values) >= classes + FEWEST + MONOTONE)
    return "is the class in other words" if pairs == classes and enough else ""
