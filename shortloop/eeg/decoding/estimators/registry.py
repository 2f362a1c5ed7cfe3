"""List of all estimators.

Stages import the one estimator that they need by name, not this list: a new estimator rebuilds no job.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings

AnyEstimator = Annotated[
    LinearSvmSettings | MatlabSvmSettings | LdaSettings | RidgeSettings | SklearnSettings,
    Field(discriminator="kind"),
]
