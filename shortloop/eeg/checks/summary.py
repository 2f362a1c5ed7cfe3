"""What is known of one imported recording without opening its arrays, so that recordings can be
compared across participants by a process that has loaded no numerical library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortloop.eeg.data import Epochs, Features

__all__ = ["RecordingSummary", "summarize"]

_LISTS = ("channels", "accounts", "warnings", "names", "times", "runs")


@dataclass(frozen=True)
class RecordingSummary:
    """Shape and origin of one participant's epochs or features in one phase.

    participant, phase: whose and of which phase.
    kind: ``"epochs"``, ``"amplitude"`` or ``"power"``.
    file: name of the file or files, for messages.
    trials: number of trials of each class, every class of the study named.
    channels: channel names; empty for features.
    sfreq: sampling rate, Hz; 0 for features.
    tmin: time of the first sample, s; 0 for features.
    samples: samples per epoch; 0 for features.
    bins: number of bins; 0 for epochs.
    features: features per bin; 0 for epochs.
    accounts: of each ``file`` that was prepared here: recorded ``rate`` (Hz), ``channels_in_file``,
        ``seconds`` (None for epochs), where ``events_from``, ``events`` with their counts, ``bads`` and
        ``interpolated`` channels, ``highpass`` and ``lowpass`` (Hz, those of the recording included),
        ``trials`` of classes, and what was ``dropped``: class, reason and number of trials; ``rejected_by``:
        for each channel how many trials its amplitude or flatness had left out; ``positions``: ``"file"``,
        the montage that the study names, or empty; of phases that are ``sections`` of it where these begin
        and end, s.
    warnings: what is odd about it, each in a sentence.
    amplitude: median over trials and channels of the standard deviation over samples, in `unit`; 0 for
        features.
    unit: unit of the samples or features.
    names: names of features; empty for epochs.
    times: centres of the bins of features; empty for epochs.
    runs: of each ``file`` that epochs are joined of, its ``trials`` of each class; empty if nobody knows.
    """

    participant: str
    phase: str
    kind: str
    file: str
    trials: dict[str, int]
    channels: tuple[str, ...]
    sfreq: float
    tmin: float
    samples: int
    bins: int
    features: int
    accounts: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    amplitude: float = 0.0
    unit: str = ""
    names: tuple[str, ...] = ()
    times: tuple[float, ...] = ()
    runs: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain values that JSON can hold."""
        return {**asdict(self), **{name: list(getattr(self, name)) for name in _LISTS}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RecordingSummary:
        """The summary that `to_dict` wrote."""
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
    """Summary of epochs or features that have passed their check."""
    from shortloop.eeg.checks.quality import typical_amplitude
    from shortloop.eeg.data import Epochs

    counts = Counter(int(label) for label in recording.labels)
    trials = {name: counts[index] for index, name in enumerate(recording.classes)}
    if isinstance(recording, Epochs):
        return RecordingSummary(
            participant=participant,
            phase=phase,
            kind="epochs",
            file=file,
            trials=trials,
            channels=tuple(recording.channels),
            sfreq=float(recording.sfreq),
            tmin=float(recording.times[0]),
            samples=int(recording.data.shape[2]),
            bins=0,
            features=0,
            accounts=tuple(recording.accounts),
            warnings=tuple(warnings),
            amplitude=typical_amplitude(recording.data),
            unit=recording.unit,
            runs=tuple(_runs(recording, files)),
        )
    return RecordingSummary(
        participant=participant,
        phase=phase,
        kind=recording.kind,
        file=file,
        trials=trials,
        channels=(),
        sfreq=0.0,
        tmin=0.0,
        samples=0,
        bins=int(recording.data.shape[0]),
        features=int(recording.data.shape[2]),
        warnings=tuple(warnings),
        unit=recording.unit,
        names=tuple(recording.names),
        times=tuple(map(float, recording.times)),
    )


def _runs(epochs: Epochs, files: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Trials of each class in each file."""
    for number, name in enumerate(files if "file" in epochs.trial_info else ()):
        counts = Counter(map(int, epochs.labels[epochs.trial_info["file"] == number]))
        yield {"file": name, "trials": {each: counts[at] for at, each in enumerate(epochs.classes)}}
