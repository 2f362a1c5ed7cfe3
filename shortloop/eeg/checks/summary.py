"""Summaries of imported recordings, to compare participants without numerical libraries or arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortloop.base.types import IntArray
    from shortloop.eeg.data import Epochs, Features

_LISTS = ("channels", "accounts", "warnings", "names", "times", "runs")


@dataclass(frozen=True)
class RecordingSummary:
    """Shape and origin of one participant's epochs or features in one phase."""

    participant: str
    phase: str
    kind: str  # "epochs", "amplitude" or "power"
    file: str  # name of the file or files, for messages
    trials: dict[str, int]  # of every class of the study
    channels: tuple[str, ...] = ()  # of epochs, as the next three
    sfreq: float = 0.0  # Hz
    tmin: float = 0.0  # time of the first sample, s
    samples: int = 0  # per epoch
    bins: int = 0  # of features, as the next
    features: int = 0  # per bin
    accounts: tuple[Mapping[str, Any], ...] = ()  # of each file that was cut here, as `part_of` writes it
    warnings: tuple[str, ...] = ()
    amplitude: float = 0.0  # median over trials and channels of the SD over samples; 0 for features
    unit: str = ""  # of samples or features
    names: tuple[str, ...] = ()  # of features
    times: tuple[float, ...] = ()  # centres of the bins of features
    runs: tuple[Mapping[str, Any], ...] = ()  # of each ``file`` of joined epochs, ``trials`` of each class

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data for JSON."""
        return {**asdict(self), **{name: list(getattr(self, name)) for name in _LISTS}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RecordingSummary:
        """Restore what `to_dict` returned."""
        lists = {name: tuple(values.get(name, ())) for name in _LISTS}
        return cls(**{**values, "trials": dict(values["trials"]), **lists})


def summarize(
    recording: Epochs | Features,
    *,
    participant: str,
    phase: str,
    file: str,
    files: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> RecordingSummary:
    """Summarize epochs or features that passed their checks."""
    from shortloop.eeg.checks.recording import typical_amplitude
    from shortloop.eeg.data import Epochs

    def trials(labels: IntArray) -> dict[str, int]:
        counts = Counter(map(int, labels))
        return {name: counts[index] for index, name in enumerate(recording.classes)}

    summary = RecordingSummary(
        participant=participant,
        phase=phase,
        kind="epochs" if isinstance(recording, Epochs) else recording.kind,
        file=file,
        trials=trials(recording.labels),
        warnings=tuple(warnings),
        unit=recording.unit,
    )
    if not isinstance(recording, Epochs):
        bins, _, features = recording.data.shape
        times = tuple(map(float, recording.times))
        return replace(summary, bins=bins, features=features, names=tuple(recording.names), times=times)
    of_file = recording.trial_info.get("file")
    runs = () if of_file is None else enumerate(files)
    return replace(
        summary,
        channels=tuple(recording.channels),
        sfreq=float(recording.sfreq),
        tmin=float(recording.times[0]),
        samples=int(recording.data.shape[2]),
        accounts=tuple(recording.accounts),
        amplitude=typical_amplitude(recording.data),
        runs=tuple({"file": name, "trials": trials(recording.labels[of_file == at])} for at, name in runs),
    )
