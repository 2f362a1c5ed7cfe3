"""Axes of score maps: test × train in jobs and summaries, train × test in MNE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shortloop.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from shortloop.base.types import FloatArray
    from shortloop.stages.results import Result

SUMMARY_AXES: dict[str, list[str] | str] = {  # note in a summary on the axes of its scores
    "curve": ["train_times"],
    "generalization": ["test_times", "train_times"],
    "note": "generalization[i][j]: tested at test_times[i] by the classifiers of train_times[j]. MNE's "
    "GeneralizingEstimator has training times first; shortloop.eeg.mne_scores.to_mne turns them.",
}
SCORING = {"accuracy": "accuracy", "balanced-accuracy": "balanced_accuracy", "auc": "roc_auc"}


@dataclass(frozen=True)
class MneScores:
    """Scores of participants as MNE's ``SlidingEstimator`` and ``GeneralizingEstimator`` have them."""

    participants: tuple[str, ...]
    scoring: str  # scikit-learn's name: "balanced_accuracy", "accuracy", "roc_auc" or "roc_auc_ovr"
    train_times: FloatArray  # (training times,), centres of the training bins, in `time_unit`
    test_times: FloatArray | None  # (test times,); None without generalization
    time_unit: str  # "s", or "bin" where the recordings name no times
    sliding: FloatArray  # (participants, training times), 0 to 1, cross-validated in the training phase
    generalizing: FloatArray | None  # (participants, training times, test times), 0 to 1


def to_mne(job: Result) -> MneScores:
    """Scores of a job as MNE has them: training times before test times, from 0 to 1.

    Parameters
    ----------
    job : Result
        Of the stage ``group``, with the scores of all participants, or ``permute`` or ``retrain``, with those
        of one: ``to_mne(shortloop.load("main-41"))``.

    Returns
    -------
    MneScores
        A copy. Participants are the first axis, as in ``mne.stats``.

    Raises
    ------
    InputError
        If it is a job of another stage.
    """
    import numpy as np

    if "curve_scores" not in job.arrays:
        found = f"{job.job} of {job.stage}"
        expected = "a job of group, permute or retrain"
        hint = "`shortloop jobs --stage group` lists them, and so does summary.json"
        raise InputError("the job holds no scores", found=found, expected=expected, hint=hint)

    def from_0_to_1(name: str, ndim: int) -> np.ndarray:
        """Scores, with an axis for the participants also where there is one."""
        scores = np.array(job.arrays[name], ndmin=ndim)
        return scores / 100 if job.record["arrays"][name]["unit"] == "%" else scores

    facts = job.facts
    scoring = SCORING[facts["score"]] + "_ovr" * (facts["score"] == "auc" and len(facts["classes"]) > 2)
    has_plane = "plane_scores" in job.arrays
    return MneScores(
        participants=tuple(facts.get("participants", [job.partition])),
        scoring=scoring,
        train_times=np.array(job.arrays["train_times"]),
        test_times=np.array(job.arrays["test_times"]) if has_plane else None,
        time_unit=facts["time_unit"],
        sliding=from_0_to_1("curve_scores", ndim=2),
        generalizing=from_0_to_1("plane_scores", ndim=3).swapaxes(1, 2) if has_plane else None,
    )
