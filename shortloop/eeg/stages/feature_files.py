"""Between the files of a job and the records of the library: epochs and features, in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import numpy as np

from shortloop.eeg.data import Epochs, Features
from shortloop.stages.stage import Outputs, Values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from shortloop.base.plain import Plain
    from shortloop.stages.results import Result

__all__ = [
    "epoch_coordinates",
    "epoch_facts",
    "epoch_values",
    "feature_axes",
    "feature_coordinates",
    "feature_facts",
    "feature_values",
    "keep_epochs",
    "load_epochs",
    "load_features",
]

LABELS = "class of each trial, an index into the classes"


def keep_epochs(epochs: Epochs, phase: str, out: Outputs) -> np.ndarray:
    """Write the data of the epochs of one phase, so that they can be let go, and map what was written."""
    data = out.create(f"data_{phase}", epochs.data.shape, epochs.data.dtype)
    data[...] = epochs.data
    return data


def epoch_values(epochs: Epochs, phase: str) -> dict[str, Values]:
    """The arrays of the epochs of one phase; their data are those of `keep_epochs`."""
    trials, channels, samples = (_axis(name, phase) for name in ("trials", "channels", "samples"))
    values = {
        f"data_{phase}": Values(
            None, f"{trials} × {channels} × {samples}", f"epochs of the {phase} phase", epochs.unit
        ),
        f"labels_{phase}": Values(epochs.labels, trials, LABELS),
        f"channels_{phase}": Values(np.array(epochs.channels, str), channels, "name of each channel"),
        f"times_{phase}": Values(epochs.times, samples, "time of each sample, 0 at the event", "s"),
    }
    if epochs.positions is not None:
        values[f"positions_{phase}"] = Values(
            epochs.positions,
            f"{channels} × right, front, up",
            "position of each channel, from between the ears; NaN: not known",
            "m",
        )
    for name, each in epochs.trial_info.items():
        values[_info(phase) + quote(name, safe=" ")] = Values(each, f"{trials} × …", f"{name} of each trial")
    return values


def epoch_coordinates(phase: str) -> dict[str, str]:
    """What stands along the axes of the arrays of the epochs of one phase."""
    return {_axis("channels", phase): f"channels_{phase}", _axis("samples", phase): f"times_{phase}"}


def epoch_facts(epochs: Epochs) -> dict[str, Plain]:
    """The rest of epochs, beside their arrays."""
    return {
        "classes": list(epochs.classes),
        "sfreq": float(epochs.sfreq),
        "channels": list(epochs.channels),
        "unit": epochs.unit,
    }


def load_epochs(result: Result, phase: str) -> Epochs:
    """The epochs of one phase that a job holds, their data mapped from its file."""
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
        positions=np.asarray(result.arrays[f"positions_{phase}"])
        if f"positions_{phase}" in result.arrays
        else None,
    )


def _axis(name: str, phase: str) -> str:
    return f"{name} of {phase}"  # each phase has trials of its own, and need not be as long as another


def _info(phase: str) -> str:
    # A comma is in no name of a phase, so that nothing of "test" looks like something of "test_late".
    return f"info_{phase},"


def feature_values(
    phase: str, labels: ArrayLike, features: Features, runs: ArrayLike | None = None
) -> dict[str, Values]:
    """The arrays of the features of one phase beside the features themselves.

    labels: int, (trials,). Class of each trial.
    runs: int, (trials,). File that each trial is from.
    """
    centre = "centre of each bin, 0 at the event"
    trials = _axis("trials", phase)
    values = {
        f"labels_{phase}": Values(labels, trials, LABELS),
        f"times_{phase}": Values(features.times, _axis("bins", phase), centre, features.time_unit),
    }
    if runs is not None:
        values[f"runs_{phase}"] = Values(runs, trials, "run of each trial: the file that it is from, from 0")
    return values


def feature_axes(phase: str) -> str:
    """Axes of the features of one phase."""
    return f"{_axis('bins', phase)} × {_axis('trials', phase)} × features"


def feature_coordinates(phase: str) -> dict[str, str]:
    """What stands along the axes of the arrays of the features of one phase."""
    return {_axis("bins", phase): f"times_{phase}", "features": "names"}


def feature_facts(features: Features) -> dict[str, Plain]:
    """The rest of features, beside their arrays; it is the same in all phases."""
    return {
        "classes": list(features.classes),
        "names": list(features.names),
        "kind": features.kind,
        "unit": features.unit,
        "time_unit": features.time_unit,
    }


def load_features(result: Result, phase: str) -> Features:
    """The features of one phase that a job holds, their data mapped from its file."""
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
        runs=np.asarray(result.arrays[f"runs_{phase}"]) if f"runs_{phase}" in result.arrays else None,
    )
