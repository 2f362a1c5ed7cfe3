"""The door: every recording comes in here, from the room of its format, and is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from shortloop.data import Epochs, Features, FloatArray
from shortloop.errors import InputError
from shortloop.formats.checks import check_epochs, check_features
from shortloop.study.inputs import (
    EdfInput,
    FifInput,
    InputSettings,
    NpzInput,
    SimulatedInput,
    ThesisInput,
)

__all__ = ["read_epochs", "read_features"]


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
    if isinstance(settings, SimulatedInput):
        from shortloop.formats import simulated

        epochs = simulated.read(
            settings, participant=participant, phase=phase, classes=classes, seed=seed, training=training
        )
        files = ()
    elif isinstance(settings, ThesisInput):
        raise InputError(
            f"input of the format '{settings.format}' has features, not epochs",
            participant=participant,
            field="input.format",
            hint="read it with read_features",
        )
    elif not files:
        raise InputError(
            f"there are no files of the {phase} phase", participant=participant, field="input.files"
        )
    else:
        epochs = _read_files(settings, files, participant, phase, classes)
    check_epochs(epochs, participant=participant, phase=phase, files=files)
    return epochs


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
        Gives the float64 array of a shape that the data are read into, where they cannot be mapped.

    Returns
    -------
    Features

    Raises
    ------
    InputError
        If anything is wrong that a later stage would trip over.
    """
    from shortloop.formats import thesis

    if not isinstance(settings, ThesisInput):
        raise InputError(
            f"input of the format '{settings.format}' has epochs, not features",
            participant=participant,
            field="input.format",
            hint="read it with read_epochs",
        )
    features = thesis.read(
        file, kind=kind, participant=participant, phase=phase, classes=classes, allocate=allocate
    )
    check_features(features, participant=participant, phase=phase, file=file)
    return features


def _read_files(
    settings: EdfInput | FifInput | NpzInput,
    files: Sequence[Path],
    participant: str,
    phase: str,
    classes: Sequence[str],
) -> Epochs:
    if isinstance(settings, EdfInput):
        from shortloop.formats import edf

        return edf.read(settings, files, participant=participant, phase=phase, classes=classes)
    if isinstance(settings, FifInput):
        from shortloop.formats import fif

        return fif.read(settings, files, participant=participant, phase=phase, classes=classes)
    from shortloop.formats import npz

    return npz.read(settings, files, participant=participant, phase=phase, classes=classes)
