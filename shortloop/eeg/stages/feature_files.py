"""Axes and arrays in the files of jobs, and the epochs and features that are read from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from shortloop.base.plain import Plain
from shortloop.stages.results import Result
from shortloop.stages.stage import Finished, Out, Outputs, Values

if TYPE_CHECKING:  # the stages import this module when exax does
    import numpy as np

    from shortloop.base.types import FloatArray
    from shortloop.eeg.data import Epochs, Features

LABELS = "class of each trial, an index into the classes"
MAP_AXES = {"curve": "training bins", "plane": "test bins × training bins"}
TIMES = {"train_times": "training bins", "test_times": "test bins"}


def map_times(arrays: Mapping[str, Any], unit: str) -> tuple[dict[str, Values], dict[str, str]]:
    """Times along the axes of maps of scores, curves and planes, of those that are there; and coordinates."""
    known = {name: axis for name, axis in TIMES.items() if name in arrays}
    said = {name: f"centre of each {axis.removesuffix('s')}, 0 at the event" for name, axis in known.items()}
    values = {name: Values(arrays[name], axis, said[name], unit) for name, axis in known.items()}
    return values, {axis: name for name, axis in known.items()}


def sized(sizes: Mapping[str, int], axes: str, dtype: Any, description: str, unit: str = "") -> Out:
    """An array to fill, its shape by the sizes of its axes."""
    return Out(tuple(sizes[axis] for axis in axes.split(" × ")), dtype, axes, description, unit)


def bin_times(times: FloatArray, unit: str, bins: str = "bins") -> Values:
    """Centres of bins."""
    return Values(times, bins, "centre of each bin, 0 at the event", unit)


def keep_epochs(
    epochs: Epochs, phase: str, out: Outputs
) -> tuple[np.ndarray, dict[str, Values], dict[str, str], dict[str, Plain]]:
    """Write the data of the epochs of one phase, so that memory can be freed."""
    # Returns a map of the written file, and arrays, coordinates and facts of the phase.
    import numpy as np

    data = out.create(f"data_{phase}", epochs.data.shape, epochs.data.dtype)
    data[...] = epochs.data
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
        axes, said = f"{channels} × right, front, up", "position of each channel, from between the ears"
        values[f"positions_{phase}"] = Values(epochs.positions, axes, f"{said}; NaN: not known", "m")
    for name, each in epochs.trial_info.items():
        values[_info(phase) + quote(name, safe=" ")] = Values(each, f"{trials} × …", f"{name} of each trial")
    facts: dict[str, Plain] = {
        "classes": list(epochs.classes),
        "sfreq": float(epochs.sfreq),
        "channels": list(epochs.channels),
        "unit": epochs.unit,
    }
    return data, values, {channels: f"channels_{phase}", samples: f"times_{phase}"}, facts


def load_epochs(result: Result, phase: str) -> Epochs:
    """Epochs of one phase in a job, their data mapped from its file."""
    import numpy as np

    from shortloop.eeg.data import Epochs

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
        positions=np.asarray(result.arrays[at]) if (at := f"positions_{phase}") in result.arrays else None,
    )


def _axis(name: str, phase: str) -> str:
    return f"{name} of {phase}"  # phases differ in trials and may differ in length


def _info(phase: str) -> str:
    # No name of a phase has a comma, so that "test" is no prefix of "test_late".
    return f"info_{phase},"


def feature_axes(phase: str) -> str:
    """Axes of the features of one phase."""
    return f"{_axis('bins', phase)} × {_axis('trials', phase)} × features"


def feature_values(phase: str, unit: str, values: Any = None) -> dict[str, Values]:
    """The features of one phase; None: they are in the file that was created for them."""
    return {f"data_{phase}": Values(values, feature_axes(phase), f"features of the {phase} phase", unit)}


def finish_features(
    features: Mapping[str, Features], arrays: Mapping[str, Values], more: Mapping[str, Plain] | None = None
) -> Finished:
    """End of a job with features of each phase: their labels, times and runs, beside `arrays` and facts."""
    found, along, facts = dict(arrays), {"features": "names"}, dict(more or {})
    for phase, each in features.items():
        bins, trials = _axis("bins", phase), _axis("trials", phase)
        found[f"labels_{phase}"] = Values(each.labels, trials, LABELS)
        found[f"times_{phase}"] = bin_times(each.times, each.time_unit, bins)
        if each.runs is not None:
            said = "run of each trial: the file that it is from, from 0"
            found[f"runs_{phase}"] = Values(each.runs, trials, said)
        along[bins] = f"times_{phase}"
        facts |= {"classes": list(each.classes), "names": list(each.names)}  # the same in all phases
        facts |= {"kind": each.kind, "unit": each.unit, "time_unit": each.time_unit}
    return Finished(facts, found, coordinates=along)


def load_features(result: Result, phase: str) -> Features:
    """Features of one phase in a job, their data mapped from its file."""
    import numpy as np

    from shortloop.eeg.data import Features

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
        runs=np.asarray(result.arrays[runs]) if (runs := f"runs_{phase}") in result.arrays else None,
    )
