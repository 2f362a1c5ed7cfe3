"""Settings of features, the input of the classifiers."""

from __future__ import annotations

from pydantic import Field, field_validator, model_validator

from shortloop.eeg.checks.plausible import in_seconds
from shortloop.settings.base import Settings, false_to_none


class AmplitudeSettings(Settings):
    """Amplitude features: baseline-corrected, low-passed signal, cut into bins of samples."""

    baseline: tuple[float, float] | None = Field(
        (-0.2, 0.0),
        description="interval whose mean each trial and channel loses, s; default -0.2 to 0; false: none",
    )
    lowpass: float | None = Field(
        30.0, gt=0, description="cut-off of the two-pass Butterworth low-pass, Hz; default 30; false: none"
    )
    order: int = Field(6, ge=1, le=12, description="order of the Butterworth filter, each pass; default 6")
    start: float = Field(-0.0215, description="time of the first sample of the first bin, s; default -0.0215")
    bins: int = Field(40, ge=1, description="number of bins; default 40")
    bin_samples: int = Field(11, ge=1, description="kept samples per bin; default 11")
    step: int = Field(1, ge=1, description="keep every step-th sample; default 1: all")
    apply: bool = Field(True, description="also apply the classifiers to the decoded phase; default true")

    _in_seconds = field_validator("baseline", "start")(in_seconds)

    @model_validator(mode="before")
    @classmethod
    def _false_is_none(cls, values: object) -> object:
        return false_to_none(values, "baseline", "lowpass")


class PowerSettings(Settings):
    """Power features: Morlet wavelet power, cut into bins of time points."""

    fmin: float = Field(4.0, gt=0, description="lowest frequency, Hz; default 4")
    fmax: float = Field(45.0, gt=0, description="highest frequency, Hz; default 45")
    fstep: float = Field(1.0, gt=0, description="step between frequencies, Hz; default 1")
    cycles: float = Field(5.0, gt=0, description="cycles per wavelet; default 5")
    every: int = Field(5, ge=1, description="power is kept at every n-th sample; default 5")
    start: float = Field(-0.045, description="time of the first point of the first bin, s; default -0.045")
    bins: int = Field(20, ge=1, description="number of bins; default 20")
    bin_points: int = Field(5, ge=1, description="kept time points per bin; default 5")
    apply: bool = Field(True, description="also apply the classifiers to the decoded phase; default true")

    _in_seconds = field_validator("start")(in_seconds)

    @model_validator(mode="after")
    def _ordered(self) -> PowerSettings:
        if self.fmax < self.fmin:
            raise ValueError(f"fmax ({self.fmax} Hz) is below fmin ({self.fmin} Hz)")
        return self


class FeatureSettings(Settings):
    """Features to compute: a table for each kind, at least one."""

    amplitude: AmplitudeSettings | None = Field(None, description="amplitude features; default: not made")
    power: PowerSettings | None = Field(None, description="power features; default: not made")

    @model_validator(mode="after")
    def _some(self) -> FeatureSettings:
        if not self.kinds:
            raise ValueError("no features asked for: add a table [features.amplitude] or [features.power]")
        return self

    @property
    def kinds(self) -> dict[str, AmplitudeSettings | PowerSettings]:
        """The wanted kinds with their settings, in a fixed order."""
        both = {"amplitude": self.amplitude, "power": self.power}
        return {kind: settings for kind, settings in both.items() if settings is not None}
