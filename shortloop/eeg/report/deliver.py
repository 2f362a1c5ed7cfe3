"""The end of a run: copy report and summary to the results, print tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shortloop.base.terminal import table_lines, wrapped
from shortloop.base.text import one_line
from shortloop.eeg.group.settings import TOO_SMALL
from shortloop.eeg.mne_scores import SUMMARY_AXES
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.report.labels import score_text
from shortloop.plan.pipeline import Built
from shortloop.report.deliver import deliver_report, print_place, run_summary, write_summary
from shortloop.run.progress import terminal_width

INDENT = "  "


def deliver(run: StudyRun, report: Built, seconds: float) -> None:
    """Copy report and summary to the folder of results, and print what was found."""
    name = run.study.name
    folder, files, findings = deliver_report(report.path, name)
    done = run_summary(run.jobs, report, seconds, files, partition="participant")
    scores = _scores(report.path, run.jobs)
    write_summary(
        folder, {"study": name, **done, "axes": SUMMARY_AXES, "scores": scores, "findings": findings}
    )
    _print_tables(findings)
    decoding = run.study.decoding
    for said in left_out(findings, scores, decoding.folds if decoding.fold_by == "trial" else None):
        print(said)
    print_place(folder)


def left_out(
    findings: Sequence[Mapping[str, Any]], scores: Sequence[Mapping[str, Any]], folds: int | None
) -> list[str]:
    lines = []
    for found in findings:
        kind, missing = found["kind"], found["group"]["left_out"]
        trained = sum(len(each["curve"]) for each in scores if each["kind"] == kind)
        of = "" if folds is None else f" of {folds * trained}"
        lines += [
            f"{kind}: {missing}{of} folds kept no feature and gave no model: their held-out trials "
            "count as guessed; a larger decoding.select_alpha keeps more"
        ] * bool(missing)
    return lines


def _scores(report: Path, jobs: Sequence[Built]) -> list[dict[str, Any]]:
    """Return the scores of each participant and kind, with the job that computed them."""
    listed = json.loads((report / "scores.json").read_text(encoding="utf-8"))
    scores = {(each["kind"], each["participant"]): each for each in listed}
    first: dict[tuple[str, str | None], str] = {}  # `retrain` may come after `permute`, for another null
    for job in (each.result() for each in jobs if each.stage in ("permute", "retrain")):
        first.setdefault((job.facts["kind"], job.partition), job.job)
    return [{**scores[of], "job": job} for of, job in first.items()]


def _print_tables(findings: list[dict[str, Any]]) -> None:
    width = terminal_width()
    room = None if width is None else width - len(INDENT)
    for found in findings:
        group = found["group"]
        text, at = partial(score_text, group["score"]), partial(_at, unit=group["time_unit"])
        columns = ["participant", "peak", "at"]
        people = found["participants"]
        rows = [[each["participant"], text(each["peak"]), at(each["peak_time"])] for each in people]
        if group["generalization"] is not None:
            columns += ["generalization peak", "trained at", "tested at"]
            for cells, row in zip(rows, people, strict=True):
                cells.append(text(row["generalization_peak"]))
                cells += [at(row[f"generalization_{each}_time"]) for each in ("train", "test")]
        lines = table_lines(columns, [[*map(one_line, row)] for row in rows], columns[1:], room)
        print(f"{found['kind']} (chance {text(group['chance'])})")
        print("\n".join(INDENT + line for row in lines for line in row))
        for name, what in (("curve", "over time"), ("generalization", "generalization")):
            if group[name] is not None:
                said = f"{INDENT}{what}: {_verdict(group[name], group['alpha'])}"
                print("\n".join([said] if width is None else wrapped(said, width)))


def _verdict(found: dict[str, Any], alpha: float) -> str:
    verdict = "significant" if found["significant"] else "not significant"
    if not found["significant"] and found["p_max"] <= alpha:
        verdict = "significant in single bins, in no cluster"
    caution = f"; {TOO_SMALL}" if found["too_small"] else ""
    return (
        f"{verdict} (smallest corrected p = {found['p']:.3g} by clusters, {found['p_max']:.3g} by the "
        f"maximum statistic{caution})"
    )


def _at(time: float, unit: str) -> str:
    return f"{1000 * time:.0f} ms" if unit == "s" else f"{unit} {time:g}"
