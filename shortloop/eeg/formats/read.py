"""The door: every recording comes in here, is read by the room of its format in a process of its own, and is
checked there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.formats.checks import check_epochs, check_features
from shortloop.eeg.formats.guarded import Declared, begun, read_apart
from shortloop.eeg.formats.settings import (
    EdfInput,
    FifInput,
    InputSettings,
    NpzInput,
    SimulatedInput,
    ThesisInput,
)
from shortloop.errors import InputError
from shortloop.types import FloatArray

__all__ = ["features_begun", "read_epochs", "read_features"]


def read_epochs(
    settings: InputSettings,
    files: Sequence[Path],
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
    settings : SimulatedInput, EdfInput, FifInput or NpzInput
        The study's input.
    files : sequence of Path
        Files of the phase; none for simulated recordings.
    participant, phase : str
        Whose and of which phase.
    classes : sequence of str
        Classes of the study.
    seed : int, default 0
        The study's seed; only simulated recordings depend on it.
    training : bool, default True
        Whether this is the phase that trains; only simulated recordings depend on it.

    Returns
    -------
    Epochs

    Raises
    ------
    InputError
        If anything is wrong that a later stage would trip over.
    """
    who = {"participant": participant, "phase": phase}
    if isinstance(settings, SimulatedInput):
        from shortloop.eeg.formats import simulated

        epochs = simulated.read(settings, **who, classes=classes, seed=seed, training=training)
        check_epochs(epochs, **who)
        return epochs
    if isinstance(settings, ThesisInput):
        raise InputError(
            f"input of the format '{settings.format}' has features, not epochs",
            participant=participant,
            field="input.format",
            hint="read it with read_features",
        )
    if not files:
        raise InputError(
            f"there are no files of the {phase} phase", participant=participant, field="input.files"
        )
    read, declared = _epochs_room(settings)

    def read_and_check() -> Epochs:
        epochs = read(settings, files, **who, classes=classes)
        check_epochs(epochs, **who, files=files)
        return epochs

    return read_apart(read_and_check, files, participant=participant, declared=declared)


def read_features(
    settings: ThesisInput,
    file: Path,
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
    settings, file, kind, participant, phase, classes, allocate
        As of `features_begun`.

    Returns
    -------
    Features

    Raises
    ------
    InputError
        If anything is wrong that a later stage would trip over.
    """
    with features_begun(
        settings,
        file,
        kind=kind,
        participant=participant,
        phase=phase,
        classes=classes,
        allocate=allocate,
    ) as wait:
        return wait()


@contextmanager
def features_begun(
    settings: ThesisInput,
    file: Path,
    *,
    kind: str,
    participant: str,
    phase: str,
    classes: Sequence[str],
    allocate: Callable[[tuple[int, ...]], FloatArray] = np.empty,
) -> Iterator[Callable[[], Features]]:
    """Begin to read and check one participant's ready-made features in one phase.

    Parameters
    ----------
    settings : ThesisInput
        The study's input.
    file : Path
        The file of this kind and phase.
    kind : {"amplitude", "power"}
        Which features.
    participant, phase : str
        Whose and of which phase.
    classes : sequence of str
        Classes of the study.
    allocate : callable, default numpy.empty
        Gives the float64 array of a shape that the data are read into, where they cannot be mapped. It is
        called in the process that reads; what it gives stays where it is if it is a map of a file.

    Yields
    ------
    callable
        Waits and returns the features.

    Raises
    ------
    InputError
        From the callable: if anything is wrong that a later stage would trip over.
    """
    from shortloop.eeg.formats import mat_header, thesis

    if not isinstance(settings, ThesisInput):
        raise InputError(
            f"input of the format '{settings.format}' has epochs, not features",
            participant=participant,
            field="input.format",
            hint="read it with read_epochs",
        )

    def read_and_check() -> Features:
        features = thesis.read(
            file, kind=kind, participant=participant, phase=phase, classes=classes, allocate=allocate
        )
        check_features(features, participant=participant, phase=phase, file=file)
        return features

    with begun(read_and_check, [file], participant=participant, declared=mat_header.declared) as wait:
        yield wait


def _epochs_room(settings: EdfInput | FifInput | NpzInput) -> tuple[Callable[..., Epochs], Declared]:
    # Imported here and not in the process that reads, so that all files share what it takes.
    if isinstance(settings, EdfInput):
        from shortloop.eeg.formats import edf

        return edf.read, edf.declared
    if isinstance(settings, FifInput):
        from shortloop.eeg.formats import fif

        return fif.read, fif.declared
    from shortloop.eeg.formats import npz

    return npz.read, npz.declared
