"""Statistics to figures and a page."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "Report: figures and a self-contained page with the provenance of each"
depend_extra = code_of(__file__)
options: dict[str, Any] = {"study": {}}  # the study's settings, as the page shows them
jobs = (["groups"], ["imported"])


def prepare() -> Any:
    from pathlib import Path

    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_pdf  # noqa: F401  imported once, shared by the slices

    from shortloop.eeg.report.collect import collect
    from shortloop.eeg.report.page import panels
    from shortloop.engines.units import Units
    from shortloop.worker.results import open_result

    groups = [open_result(each.path) for each in jobs.groups]  # type: ignore[attr-defined]
    imported = [open_result(each.path) for each in jobs.imported]  # type: ignore[attr-defined]
    content = collect(groups, imported, options["study"])
    Path("figures").mkdir()
    figures = panels(content)
    return content, figures, Units([figure.cost for figure in figures])


def analysis(sliceno: int, prepare_res: Any) -> Any:
    from pathlib import Path

    from shortloop.eeg.report.page import draw_panel
    from shortloop.worker.threads import check_single_thread

    _, figures, units = prepare_res
    for unit in units:
        draw_panel(figures[unit], Path())
    return check_single_thread() if units.had_last else None


def synthesis(job: Any, prepare_res: Any, analysis_res: Any) -> None:
    import json
    from pathlib import Path

    from shortloop.eeg.report.page import write_page
    from shortloop.eeg.report.summary import group_findings, participant_scores, participant_table
    from shortloop.worker.records import write_record
    from shortloop.worker.threads import threads_of

    content = prepare_res[0]
    write_page(content, Path())
    findings = [
        {"kind": kind.kind, "participants": participant_table(kind), "group": group_findings(kind)}
        for kind in content.kinds
    ]
    Path("findings.json").write_text(json.dumps(findings, indent=1) + "\n", encoding="utf-8")
    scores = [each for kind in content.kinds for each in participant_scores(kind)]
    Path("scores.json").write_text(json.dumps(scores) + "\n", encoding="utf-8")
    write_record("report", None, {}, facts={"study": content.study}, threads=threads_of(analysis_res))
    job.register_files("**/*")
