"""The records a study file is read into. Every field says its unit and default here, once;
``shortloop study`` prints them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shortloop.study.inputs import InputSettings

__all__ = [
    "AmplitudeSettings",
    "DecodingSettings",
    "EstimatorSettings",
    "FeatureSettings",
    "GroupSettings",
    "LinearSvmSettings",
    "MatlabSvmSettings",
    "PermutationSettings",
    "Phases",
    "PowerSettings",
    "SklearnSettings",
    "Study",
]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")]


class Settings(BaseModel):
    """Base of every record: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Phases(Settings):
    """Which phase of the experiment trains the classifiers and which is decoded."""

    train: Name = Field("study", description="phase whose trials train the classifiers; default 'study'")
    decode: Name | None = Field(
        None,
        description="phase that the trained classifiers are applied to; default: the training phase itself, "
        "where each classifier then decodes only the trials of its own held-out fold",
    )

    @property
    def decoded(self) -> str:
        """The decoded phase, spelled out."""
        return self.decode or self.train

    @property
    def within(self) -> bool:
        """Whether one phase both trains and is decoded."""
        return self.decoded == self.train

    @property
    def names(self) -> tuple[str, ...]:
        """The phases to import, training first."""
        return (self.train,) if self.within else (self.train, self.decoded)


class AmplitudeSettings(Settings):
    """Amplitude features: baseline-corrected, low-passed signal, cut into bins of samples."""

    baseline: tuple[float, float] | None = Field(
        (-0.2, 0.0), description="interval whose mean is subtracted from each trial and channel, s; false: none"
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

    @model_validator(mode="before")
    @classmethod
    def _false_is_none(cls, values: object) -> object:
        return _false_to_none(values, "baseline", "lowpass")


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

    @model_validator(mode="after")
    def _ordered(self) -> PowerSettings:
        if self.fmax < self.fmin:
            raise ValueError(f"fmax ({self.fmax} Hz) is below fmin ({self.fmin} Hz)")
        return self


class FeatureSettings(Settings):
    """Which features are made: a table for each kind that is wanted, at least one."""

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
        both: dict[str, AmplitudeSettings | PowerSettings | None] = {
            "amplitude": self.amplitude,
            "power": self.power,
        }
        return {kind: settings for kind, settings in both.items() if settings is not None}


class DecodingSettings(Settings):
    """Cross-validation, feature selection and scaling, the same for every estimator."""

    folds: int = Field(10, ge=2, description="stratified shuffled folds; default 10")
    select_alpha: float = Field(
        0.05, gt=0, le=1, description="features with ANOVA p below this are kept; default 0.05; 1: all"
    )
    scaling: Literal["separate", "training"] = Field(
        "separate",
        description="z-scores of the trials that are predicted come from those trials themselves ('separate', "
        "as in the published analysis, the default) or from the training trials ('training')",
    )


class LinearSvmSettings(Settings):
    """The default estimator: one-versus-rest linear SVM in liblinear's form, C by inner folds."""

    kind: Literal["linear-svm"] = Field("linear-svm", description="the default estimator")
    C: tuple[Annotated[float, Field(gt=0)], ...] = Field(
        (1e-4, 1e-3, 1e-2), min_length=1, description="grid of C; the first best wins; default 1e-4, 1e-3, 1e-2"
    )
    inner_folds: int = Field(5, ge=2, description="stratified unshuffled folds that choose C; default 5")
    tol: float = Field(1e-4, gt=0, description="stopping tolerance of the solver; default 1e-4")


class MatlabSvmSettings(Settings):
    """The published MATLAB analysis: one-versus-all linear SVM, unpenalised intercept, no grid."""

    kind: Literal["matlab-svm"] = Field("matlab-svm", description="the MATLAB-like estimator")
    C: float = Field(1.0, gt=0, description="box constraint; default 1")
    kernel_scale: float | Literal["auto"] = Field(
        "auto", description="features are divided by this; default 'auto': median distance between the classes"
    )
    tol: float = Field(1e-3, gt=0, description="stopping tolerance of the solver; default 1e-3")


class SklearnSettings(Settings):
    """Any scikit-learn classifier, by import path."""

    kind: Literal["sklearn"] = Field("sklearn", description="a scikit-learn estimator")
    path: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="import path, e.g. 'sklearn.discriminant_analysis.LinearDiscriminantAnalysis'; no default",
    )
    params: dict[str, bool | int | float | str | None] = Field(
        default_factory=dict, description="its parameters; default: its own defaults"
    )


EstimatorSettings = Annotated[
    LinearSvmSettings | MatlabSvmSettings | SklearnSettings, Field(discriminator="kind")
]


class PermutationSettings(Settings):
    """The null distribution."""

    count: int = Field(1000, ge=1, description="number of permutations; default 1000")
    null: Literal["test-labels", "training-labels"] = Field(
        "test-labels",
        description="which labels are shuffled: those of the predicted trials (no prediction changes), or those "
        "of the training trials, within folds, and everything is trained again; default 'test-labels'",
    )


class GroupSettings(Settings):
    """Statistics over participants."""

    smooth: float = Field(
        1.0, ge=0, description="sigma of the Gaussian that smooths each participant's map, bins; default 1; 0: none"
    )
    truncate: float = Field(2.0, gt=0, description="radius of that Gaussian, in sigmas; default 2")
    alpha: float = Field(0.05, gt=0, lt=1, description="family-wise error rate; default 0.05")
    cluster_alpha: float = Field(
        0.05, gt=0, lt=1, description="two-sided p of one cell that puts it into a cluster; default 0.05"
    )
    null: Literal["permutations", "sign-flips"] = Field(
        "permutations",
        description="null distribution of the group: the participants' permuted maps, or their observed maps "
        "with signs flipped about chance; default 'permutations'",
    )


class Study(Settings):
    """One study: everything that decides what is computed."""

    name: Name = Field(description="name of the study and of its folder of results; no default")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of folds, permutations and simulation; default 0")
    participants: tuple[Name, ...] = Field(min_length=1, description="names of the participants; no default")
    classes: tuple[Name, ...] = Field(
        min_length=2, description="names of the classes, in the order of tables and figures; no default"
    )
    phases: Phases = Field(Phases(), description="which phase trains and which is decoded")
    input: InputSettings = Field(description="format of the recordings and where they are; no default")
    features: FeatureSettings = Field(description="what the classifiers see; no default")
    decoding: DecodingSettings = Field(DecodingSettings(), description="folds, selection, scaling")
    estimator: EstimatorSettings = Field(LinearSvmSettings(), description="the classifier")
    permutations: PermutationSettings = Field(PermutationSettings(), description="the null distribution")
    group: GroupSettings = Field(GroupSettings(), description="statistics over participants")

    @model_validator(mode="after")
    def _consistent(self) -> Study:
        for field in ("participants", "classes"):
            values = getattr(self, field)
            twice = sorted({value for value in values if values.count(value) > 1})
            if twice:
                raise ValueError(f"{field}: {', '.join(twice)} named twice")
        self.input.check_phases(self.phases.names, self.classes, tuple(self.features.kinds))
        return self


def _false_to_none(values: object, *fields: str) -> object:
    # TOML has no null: `lowpass = false` says "none".
    if not isinstance(values, dict):
        return values
    return {key: None if key in fields and value is False else value for key, value in values.items()}
