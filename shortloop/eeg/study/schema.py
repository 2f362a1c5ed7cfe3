"""Record of a study file.

The settings of each step are with that step, so that they are in the keys of that step alone. Descriptions of
fields have unit and default; ``shortloop study`` prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, model_validator

from shortloop.eeg.checks.participants import Participant, alike
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.features.settings import FeatureSettings
from shortloop.eeg.formats.recording_format import InputSettings
from shortloop.eeg.group.settings import RETRAINED, GroupSettings
from shortloop.settings.base import Name, ReportSettings, Settings, StudySettings, tag_of

AT_ONCE = ("lda", "ridge")  # estimators of which many trainings on all features cost about one


class Phases(Settings):
    """Phases of the experiment that train the classifiers and that are decoded."""

    train: Name = Field("study", description="phase whose trials train the classifiers; default 'study'")
    decode: Name | None = Field(
        None,
        description="phase that the trained classifiers are applied to; default: the training phase itself, "
        "where each classifier then decodes only the trials of its own held-out fold",
    )

    @property
    def decoded(self) -> str:
        """The decoded phase, also if it is the default."""
        return self.decode or self.train

    @property
    def within(self) -> bool:
        """True if one phase both trains and is decoded."""
        return self.decoded == self.train

    @property
    def names(self) -> tuple[str, ...]:
        """The phases to import, training first."""
        return (self.train,) if self.within else (self.train, self.decoded)


class PermutationSettings(Settings):
    """The null distribution."""

    count: int = Field(1000, ge=1, description="number of permutations; default 1000")
    null: Literal["test-labels", "training-labels"] | None = Field(
        None,
        description="which labels are shuffled: of predicted trials, so that no prediction changes "
        "('test-labels'), or of the training trials, within folds, and all is trained again "
        "('training-labels'); default: of predicted trials, and of training trials where scores of one "
        "participant alone are cross-validated",
    )
    retrained: int | None = Field(
        None,
        ge=0,
        description="how often each participant's classifiers are trained again on shuffled labels, so that "
        "the group's null of cross-validated scores can be drawn from these few; 0: not at all, that null is "
        "as `null` says; with sign flips of no effect; default: 19 for 'lda' and 'ridge' with select_alpha = "
        "1 and no class weights, where all these cost about one training, for others 0, where 9 are enough; "
        "of one participant alone as many as `count`",
    )

    @model_validator(mode="after")
    def _trained_again_once(self) -> PermutationSettings:
        if self.null == "training-labels" and self.retrained:
            raise ValueError("retrained: null = 'training-labels' trains all again already; leave it out")
        return self


class Study(StudySettings):
    """One study: everything that decides what is computed."""

    name: Name = Field(description="name of the study and of its folder of results; no default")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of folds, permutations and simulation; default 0")
    participants: tuple[Participant, ...] = Field(
        min_length=1, description="names of the participants; no default"
    )
    classes: tuple[Name, ...] = Field(
        min_length=2,
        max_length=100,
        description="names of the classes, in the order of tables and figures; no default",
    )
    phases: Phases = Field(Phases(), description="which phase trains and which is decoded")
    input: InputSettings = Field(description="format of the recordings and where they are; no default")
    features: FeatureSettings = Field(description="what the classifiers see; no default")
    decoding: DecodingSettings = Field(DecodingSettings(), description="folds, selection, scaling, score")
    estimator: EstimatorSettings = Field(LinearSvmSettings(), description="the classifier")
    permutations: PermutationSettings = Field(PermutationSettings(), description="the null distribution")
    group: GroupSettings = Field(GroupSettings(), description="statistics over participants")
    report: ReportSettings = Field(ReportSettings(), description="the report")

    @model_validator(mode="after")
    def _consistent(self) -> Study:
        problems = []
        for field in ("participants", "classes"):
            values = getattr(self, field)
            if twice := sorted({value for value in values if values.count(value) > 1}):
                problems.append(f"{field}: {', '.join(twice)} named twice")
        problems += [
            f"participants: {' and '.join(names)} differ only by upper and lower case, as one person's do "
            "whose files were named by several: rename the files of one"
            for names in alike(self.participants)
        ]
        if self.decoding.class_weight is not None and not self.estimator.weighs_classes:
            problems.append(
                f"decoding.class_weight: the estimator {getattr(self.estimator, self.estimator.tag)} has no "
                "class weights; cut the larger classes in their place: decoding.subsample = true"
            )
        kinds = tuple(self.features.kinds)
        problems += _problem_of(self.input.check_phases, self.phases.names, self.classes, kinds)
        problems += _problem_of(self.input.check_participants, self.participants)
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @property
    def trainings(self) -> int:
        """Trainings on shuffled labels of each participant, for the null of cross-validated scores."""
        alone, asked = len(self.participants) == 1, self.permutations
        if asked.null == "training-labels" or (self.group.null == "sign-flips" and not alone):
            return 0
        if asked.retrained is not None:
            return asked.retrained
        at_once = tag_of(type(self.estimator)) in AT_ONCE and not self.decoding.sees_labels
        if alone:
            return asked.count if at_once or asked.null is None else 0
        return RETRAINED if at_once else 0

    def for_report(self) -> dict[str, Any]:
        """Settings as plain data, with `words` on the estimator for methods sections."""
        made = self.estimator
        papers, libraries = dict(made.papers), dict(made.libraries)
        words = {"classifier": made.described(len(self.classes)), "papers": papers, "libraries": libraries}
        return {**self.model_dump(mode="json", exclude={"input": {"folder"}}), "words": words}

    def in_words(self) -> str:
        people, phases = len(self.participants), self.phases
        roles = "trains and is decoded, in folds" if phases.within else f"trains, {phases.decoded} is decoded"
        return (
            f"study {self.name}, {people} participant{'' if people == 1 else 's'}, "
            f"{len(self.classes)} classes, {phases.train} {roles}, "
            f"{' and '.join(self.features.kinds)} features"
        )


def _problem_of(check: Callable[..., None], *given: object) -> list[str]:
    try:
        check(*given)
    except ValueError as error:
        return [str(error)]
    return []
