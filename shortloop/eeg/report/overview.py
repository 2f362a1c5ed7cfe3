"""The first words of a report: who was decoded, into what, and in which score."""

from __future__ import annotations

from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.labels import chance_text
from shortloop.eeg.report.sensors import measures
from shortloop.eeg.report.sentences import listed

__all__ = ["overview"]

SCORES = {
    "balanced-accuracy": "balanced accuracy, the mean over classes of recall, in percent",
    "accuracy": "accuracy, the share of trials that are called what they are, in percent",
    "auc": "the area under the ROC curve (AUC), of more than two classes the mean of each against the rest, "
    "averaged over folds",
}


def overview(content: ReportContent) -> str:
    """First words of a report: who was decoded, into what, and the level of chance."""
    names = sorted({name for kind in content.kinds for name in kind.participants})
    whose = f"participant {names[0]}" if len(names) == 1 else f"{len(names)} participants"
    classes = [str(name) for name in content.settings.get("classes", ())]
    what = f" into {len(classes)} classes ({listed(classes)})" if classes else ""
    chances = sorted({chance_text(kind.curve) for kind in content.kinds})
    chance = f"; chance is {listed(chances)}" if chances else ""
    scores = listed([SCORES[score] for score in sorted({kind.curve.score for kind in content.kinds})])
    recorded = measures(content.recordings)
    of = f"{listed(recorded) or 'Ready-made features'} of {whose} {'was' if len(recorded) == 1 else 'were'}"
    timed = any(kind.time_unit != "bin" for kind in content.kinds)
    times = "; times are centres of time bins" if timed else ""
    return f"{of} decoded{what}{chance}. Scores are {scores}{times}."
