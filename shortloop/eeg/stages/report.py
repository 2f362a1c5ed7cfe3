"""Statistics to figures and a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shortloop.report.stage import ReportStage
from shortloop.stages.stage import Finished, Job, Outputs

if TYPE_CHECKING:
    from shortloop.report.page import Drawing

OTHERS = ("evoked", "train", "apply", "individual", "intervals", "patterns", "check")


class Report(ReportStage):
    """Report: figures and a self-contained page with the provenance of each."""

    study: dict[str, object]  # settings, as the page shows them
    groups: list[Job]
    imported: list[Job]
    # Build scripts of earlier versions do not give these; the report omits them then.
    evoked: list[Job] = []  # noqa: RUF012
    train: list[Job] = []  # noqa: RUF012
    apply: list[Job] = []  # noqa: RUF012
    individual: list[Job] = []  # noqa: RUF012
    intervals: list[Job] = []  # noqa: RUF012
    patterns: list[Job] = []  # noqa: RUF012
    check: list[Job] = []  # noqa: RUF012
    names: dict[str, list[str]] = {}  # noqa: RUF012  current names of the files of each participant

    def drawings(self) -> list[Drawing[Any]]:
        from shortloop.eeg.report.collect import collect
        from shortloop.eeg.report.eeg_page import panels

        jobs = {stage: getattr(self, stage) for stage in OTHERS}
        self._content = collect(self.groups, self.imported, self.study, jobs, self.names)
        return panels(self._content)

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.report.eeg_page import page_of
        from shortloop.eeg.report.summary import group_findings, participant_scores, participant_table

        page = page_of(self._content)
        kinds = self._content.kinds
        findings = [
            {"kind": each.kind, "participants": participant_table(each), "group": group_findings(each)}
            for each in kinds
        ]
        scores = [score for each in kinds for score in participant_scores(each)]
        files = {
            **self.report_files(out, page),
            "findings.json": (json.dumps(findings, indent=1) + "\n").encode(),
            "scores.json": (json.dumps(scores) + "\n").encode(),
        }
        return Finished({"study": self._content.study}, files=files)
