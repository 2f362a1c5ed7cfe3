"""Between the files of a job and the records of the library: epochs and features, in and out."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from shortloop.eeg.data import Epochs, Features
from shortloop.worker.records import Array, Outside, save_array
from shortloop.worker.results import Result

__all__ = [
    "feature_arrays",
    "feature_facts",
    "load_epochs",
    "load_features",
    "save_epochs",
]


def save_epochs(epochs: Epochs, phase: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Write the epochs of one phase into the current folder.

    Parameters
    ----------
    epochs : Epochs
        The epochs.
    phase : str
        Their phase, part of the arrays' names.

    Returns
    -------
    arrays : dict of str to Array
        What was written.
    facts : dict
        The rest of the epochs, plain data.
    """
    save_array(f"data_{phase}", epochs.data)
    save_array(f"labels_{phase}", epochs.labels)
    save_array(f"times_{phase}", epochs.times)
    arrays = {
        f"data_{phase}": Array("trials × channels × samples", f"epochs of the {phase} phase", epochs.unit),
        f"labels_{phase}": Array("trials", "class of each trial, an index into the classes"),
        f"times_{phase}": Array("samples", "time of each sample, 0 at the event", "s"),
    }
    for name, values in epochs.trial_info.items():
        array = _info(phase) + quote(name, safe=" ")
        save_array(array, values)
        arrays[array] = Array("trials × …", f"{name} of each trial")
    facts = {
        "classes": list(epochs.classes),
        "sfreq": float(epochs.sfreq),
        "channels": list(epochs.channels),
        "unit": epochs.unit,
    }
    return arrays, facts


def load_epochs(result: Result, phase: str) -> Epochs:
    """The epochs of one phase that a job holds, their data mapped from its file.

    Parameters
    ----------
    result : Result
        A job of the stage ``import_epochs``.
    phase : str
        Which phase.

    Returns
    -------
    Epochs
    """
    facts = result.facts["phases"][phase]
    info = _info(phase)
    return Epochs(
        data=result.arrays[f"data_{phase}"],
        labels=np.asarray(result.arrays[f"labels_{phase}"]),
        classes=tuple(facts["classes"]),
        times=np.asarray(result.arrays[f"times_{phase}"]),
        sfreq=facts["sfreq"],
        channels=tuple(facts["channels"]),
        unit=facts["unit"],
        trial_info={
            unquote(name.removeprefix(info)): np.asarray(result.arrays[name])
            for name in result.arrays
            if name.startswith(info)
        },
    )


def _info(phase: str) -> str:
    # A comma is in no name of a phase, so that nothing of "test" looks like something of "test_late".
    return f"info_{phase},"


def feature_arrays(phase: str, unit: str, time_unit: str, outside: Outside | None = None) -> dict[str, Array]:
    """What the arrays of one phase of a job of features are.

    Parameters
    ----------
    phase : str
        Their phase, part of the arrays' names.
    unit : str
        Unit of the features.
    time_unit : str
        Unit of the bins' centres.
    outside : Outside, optional
        Where the features lie, if the job has no copy of them.

    Returns
    -------
    dict of str to Array
        By the name of the array.
    """
    return {
        f"data_{phase}": Array("bins × trials × features", f"features of the {phase} phase", unit, outside),
        f"labels_{phase}": Array("trials", "class of each trial, an index into the classes"),
        f"times_{phase}": Array("bins", "centre of each bin, 0 at the event", time_unit),
    }


def feature_facts(features: Features) -> dict[str, Any]:
    """The rest of features, beside their arrays; it is the same in all phases.

    Parameters
    ----------
    features : Features
        Of any phase.

    Returns
    -------
    dict
        Plain data.
    """
    return {
        "classes": list(features.classes),
        "names": list(features.names),
        "kind": features.kind,
        "unit": features.unit,
        "time_unit": features.time_unit,
    }


def load_features(result: Result, phase: str) -> Features:
    """The features of one phase that a job holds, their data mapped from its file.

    Parameters
    ----------
    result : Result
        A job of a feature stage.
    phase : str
        Which phase.

    Returns
    -------
    Features
    """
    facts = result.facts
    return Features(
        data=result.arrays[f"data_{phase}"],
        labels=np.asarray(result.arrays[f"labels_{phase}"]),
        classes=tuple(facts["classes"]),
        times=np.asarray(result.arrays[f"times_{phase}"]),
        names=tuple(facts["names"]),
        kind=facts["kind"],
        unit=facts["unit"],
        time_unit=facts["time_unit"],
    )
