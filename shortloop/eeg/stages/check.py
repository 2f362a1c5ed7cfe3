"""Checks of all recordings together, and with the settings of later stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from shortloop.base.plain import Plain
    from shortloop.eeg.checks.consistency import Refuse
    from shortloop.eeg.checks.summary import RecordingSummary
    from shortloop.eeg.features.settings import FeatureSettings


class CheckRecordings(Stage):
    """Check: recordings are alike, and have enough trials for the folds and samples for the bins."""

    phase: str  # of the training
    folds: int
    fold_by: str
    inner_folds: int | None
    features: FeatureSettings
    uneven: bool  # classes of different size hide effects
    imported: list[Job]

    def finish(self, out: Outputs) -> Finished:
        """Compare the recordings; the first problem ends it."""
        from shortloop.eeg.checks import consistency

        return Finished(self.compare(consistency.raise_first))

    def compare(self, refuse: Refuse) -> dict[str, Plain]:
        """Compare the recordings."""
        from shortloop.eeg.checks import consistency
        from shortloop.eeg.checks.summary import RecordingSummary

        summaries = [
            RecordingSummary.from_dict(each) for job in self.imported for each in job.facts["recordings"]
        ]
        alike = consistency.check_alike(summaries, refuse)
        odd = {number: [text] for number, text in consistency.check_scales(summaries, refuse).items()}
        by_run = self.fold_by == "run"
        for number, summary in enumerate(summaries):
            if summary.phase != self.phase:
                continue
            if by_run:
                self._check_runs(summary, refuse)
            else:
                folds = self.folds
                consistency.check_trials([summary], folds=folds, inner_folds=self.inner_folds, refuse=refuse)
            said = [consistency.uneven_classes(summary)] if self.uneven else []
            said.append(consistency.class_told_by_run(summary, by_run=by_run))
            if any(said):
                odd.setdefault(number, []).extend(filter(None, said))
        for summary in alike:
            if summary.kind == "epochs":
                self._check_bins(summary, refuse)
        recordings: list[Plain] = []
        for number, each in enumerate(summaries):
            known = {"participant": each.participant, "phase": each.phase, "kind": each.kind}
            recordings.append({**known, "warnings": [*each.warnings, *odd.get(number, [])]})
        told = [(summaries[number], text) for number, texts in odd.items() for text in texts]
        notes: list[Plain] = [f"{each.participant}, {each.phase}: {text}" for each, text in told]
        return {"recordings": recordings, "notes": notes}

    def _check_runs(self, summary: RecordingSummary, refuse: Refuse) -> None:
        """Refuse runs that cannot be held out: each fold must train on every class."""
        from shortloop.eeg.checks import consistency

        table = consistency.trials_by_run(summary)
        alone = consistency.in_one_run(summary)
        if len(table) < 2:
            found, hint = "one run", "name several files, or take fold_by = 'trial'"
        elif alone:
            found = f"one run alone with {' or '.join(alone)} ({consistency.describe_runs(summary)})"
            hint = (
                "record each class in several runs: no folds can tell a class from the one run that it is in"
            )
        else:
            fewest, needed = self._least_trained(table), max(1, self.inner_folds or 0)
            if fewest >= needed:
                return
            found = f"a fold that would train on {fewest} trials of a class, of {needed} needed"
            hint = "take other folds (decoding.folds), or an estimator without inner folds, such as lda"
        problem = f"whole runs of the {summary.phase} phase cannot be held out"
        facts = {"found": found, "expected": "each class in several runs", "hint": hint}
        consistency.report(refuse, summary, problem, field="decoding.fold_by", **facts)

    def _least_trained(self, table: list[list[int]]) -> int:
        """Fewest training trials of a class in any fold."""
        import numpy as np

        from shortloop.eeg.decoding.selection.folds import run_folds

        counts = np.array(table)
        runs, labels = np.nonzero(counts)
        sizes = counts[runs, labels]
        labels, runs = np.repeat(labels, sizes), np.repeat(runs, sizes)
        folds, count = run_folds(labels, runs, self.folds)
        return min(
            int(np.bincount(labels[folds != fold], minlength=len(table[0])).min()) for fold in range(count)
        )

    def _check_bins(self, summary: RecordingSummary, refuse: Refuse) -> None:
        from shortloop.base.errors import InputError
        from shortloop.eeg.features.bins import check_bins_fit

        for kind, settings in self.features.kinds.items():
            try:
                check_bins_fit(
                    kind,
                    settings,
                    tmin=summary.tmin,
                    sfreq=summary.sfreq,
                    samples=summary.samples,
                    participant=summary.participant,
                    file=summary.file or None,
                )
            except InputError as error:
                refuse(error)
