"""What only shows when all recordings are seen together, or with the settings of later stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.worker.stage import Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from shortloop.eeg.features.settings import FeatureSettings
    from shortloop.eeg.formats.consistency import Refuse
    from shortloop.eeg.formats.summary import RecordingSummary
    from shortloop.plain import Plain

__all__ = ["CheckRecordings"]


class CheckRecordings(Stage):
    """Check: whether recordings are alike, and have enough trials for the folds and samples for the bins."""

    phase: str  # of the training
    folds: int
    inner_folds: int | None
    features: FeatureSettings
    uneven: bool  # whether classes of different size hide effects
    imported: list[Job]

    def finish(self, out: Outputs) -> Finished:
        """Compare the recordings; the first problem ends it."""
        from shortloop.eeg.formats.consistency import first_ends

        return Finished(self.compare(first_ends))

    def compare(self, refuse: Refuse) -> dict[str, Plain]:
        """Compare the recordings.

        Parameters
        ----------
        refuse : callable
            Is told of each problem.

        Returns
        -------
        dict
            What is odd about recordings, but no problem.
        """
        from shortloop.eeg.formats.consistency import check_alike, check_scales, check_trials, uneven_classes
        from shortloop.eeg.formats.summary import RecordingSummary

        summaries = [
            RecordingSummary.from_dict(each) for job in self.imported for each in job.facts["recordings"]
        ]
        alike = check_alike(summaries, refuse)
        odd = {number: [text] for number, text in check_scales(summaries, refuse).items()}
        training = [each for each in summaries if each.phase == self.phase]
        check_trials(training, folds=self.folds, inner_folds=self.inner_folds, refuse=refuse)
        for number, summary in enumerate(summaries):
            if self.uneven and summary.phase == self.phase and (said := uneven_classes(summary)):
                odd.setdefault(number, []).append(said)
        for summary in alike:
            if summary.kind == "epochs":
                self._check_bins(summary, refuse)
        return {
            "recordings": [
                {
                    "participant": each.participant,
                    "phase": each.phase,
                    "kind": each.kind,
                    "warnings": [*each.warnings, *odd.get(number, [])],
                }
                for number, each in enumerate(summaries)
            ],
            "notes": [
                f"{summaries[number].participant}, {summaries[number].phase}: {text}"
                for number, texts in odd.items()
                for text in texts
            ],
        }

    def _check_bins(self, summary: RecordingSummary, refuse: Refuse) -> None:
        from shortloop.eeg.features.bins import check_bins_fit
        from shortloop.errors import InputError

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
