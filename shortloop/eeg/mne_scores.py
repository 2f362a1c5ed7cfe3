"""Which way round maps of scores are: test × train in jobs and summaries, train × test as MNE has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shortloop.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from shortloop.base.types import FloatArray
    from shortloop.stages.results import Result

__all__ = ["SUMMARY_AXES", "MneScores", "to_mne"]

SUMMARY_AXES: dict[str, list[str] | str] = {
    "curve": ["train_times"],
    "generalization": ["test_times", "train_times"],
    "note": "generalization[i][j]: tested at test_times[i] by the classifiers of train_times[j]. MNE's "
    "GeneralizingEstimator has training times first; shortloop.eeg.mne_scores.to_mne turns them.",
}
"""What a summary says of the axes of the scores in it."""
SCORING = {"accuracy": "accuracy", "balanced-accuracy": "balanced_accuracy", "auc": "roc_auc"}


@dataclass(frozen=True)
class MneScores:
    """Scores of participants as MNE's ``SlidingEstimator`` and ``GeneralizingEstimator`` have them.

    participants: whose they are.
    scoring: what they are, as scikit-learn calls it: ``"balanced_accuracy"``, ``"accuracy"``, ``"roc_auc"``
        or ``"roc_auc_ovr"``. From 0 to 1.
    train_times: float, (training times,). Centres of the training bins, in `time_unit`.
    test_times: float, (test times,), or None. Centres of the test bins; None where there is no
        generalization.
    time_unit: ``"s"``, or ``"bin"`` where the recordings name no times.
    sliding: float, (participants, training times). Trained and tested at the same time in the training phase,
        cross-validated.
    generalizing: float, (participants, training times, test times), or None. Trained at each time, tested at
        each; None where that was not asked for.
    """

    participants: tuple[str, ...]
    scoring: str
    train_times: FloatArray
    test_times: FloatArray | None
    time_unit: str
    sliding: FloatArray
    generalizing: FloatArray | None


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
        raise InputError(
            "the job holds no scores",
            found=f"{job.job} of {job.stage}",
            expected="a job of group, permute or retrain",
            hint="`shortloop jobs --stage group` lists them, and so does summary.json",
        )
    facts = job.facts
    scoring = SCORING[facts["score"]] + "_ovr" * (facts["score"] == "auc" and len(facts["classes"]) > 2)
    has_plane = "plane_scores" in job.arrays
    return MneScores(
        participants=tuple(facts.get("participants", [job.partition])),
        scoring=scoring,
        train_times=np.array(job.arrays["train_times"]),
        test_times=np.array(job.arrays["test_times"]) if has_plane else None,
        time_unit=facts["time_unit"],
        sliding=_from_0_to_1(job, "curve_scores", ndim=2),
        generalizing=_from_0_to_1(job, "plane_scores", ndim=3).swapaxes(1, 2) if has_plane else None,
    )


def _from_0_to_1(job: Result, name: str, ndim: int) -> np.ndarray:
    """Scores, with an axis for the participants also where there is one."""
    import numpy as np

    scores = np.array(job.arrays[name])
    scores = scores if scores.ndim == ndim else scores[np.newaxis]
    return scores / 100 if job.record["arrays"][name]["unit"] == "%" else scores
