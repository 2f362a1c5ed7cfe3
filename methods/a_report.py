"""Statistics to figures and a page."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.code import code_of

description = "Report: figures and a self-contained page with the provenance of each"
depend_extra = code_of(__file__)
options: dict[str, Any] = {"study": {}}  # the study's settings, as the page shows them
jobs = (["groups"],)


def synthesis(job: Any) -> None:
    import json
    from pathlib import Path

    from shortloop.jobs.records import write_record
    from shortloop.jobs.results import open_result
    from shortloop.jobs.threads import check_single_thread
    from shortloop.report.collect import collect
    from shortloop.report.page import write_report
    from shortloop.report.summary import group_findings, participant_table

    content = collect([open_result(each.path) for each in jobs.groups], options["study"])  # type: ignore[attr-defined]
    write_report(content, Path())
    findings = [
        {"kind": kind.kind, "participants": participant_table(kind), "group": group_findings(kind)}
        for kind in content.kinds
    ]
    Path("findings.json").write_text(json.dumps(findings, indent=1) + "\n", encoding="utf-8")
    write_record("report", None, {}, facts={"study": content.study}, threads=check_single_thread())
    job.register_files("**/*")
