"""Regressions over groups: a panel to tables, one job per specification, outcome and block of groups."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.exax.client import Urd
from shortloop.jobs.pipeline import Built
from shortloop.panel.deliver import deliver
from shortloop.panel.models.base import ModelSettings
from shortloop.panel.pipeline import PanelRun, import_panel, run_panel

description = "regressions over groups: a panel to tables, for the panel that STUDY names"


def main(urd: Urd) -> int:
    return run_panel(urd, pipeline, deliver)


def pipeline(run: PanelRun) -> Built:
    return fit_all(run, import_panel(run))


def fit_all(run: PanelRun, imported: Built) -> Built:
    """From rows that a job has brought in to the report."""
    panel = run.study
    named = name_groups(run, imported)
    blocks = {
        f"{number:03d}": run.build(
            "panel_block",
            partition=f"{number:03d}",
            number=number,
            blocks=panel.groups.blocks,
            panel=imported,
        )
        for number in range(panel.groups.blocks)
    }
    results, pages = [], []
    for name, model in panel.models.items():
        for outcome in model.outcomes or (None,):
            alone = model.model_copy(update={"outcomes": ()})  # others are none of its business
            found = fit(run, name, alone, outcome, blocks)
            results.append(found)
            pages += diagnose(run, name, alone, outcome, blocks, found, named)
    settings = panel.model_dump(mode="json")
    return run.build("panel_report", panel=settings, results=results, diagnostics=pages)


def name_groups(run: PanelRun, imported: Built) -> Built | None:
    """Groups that were chosen by name; a wrong one ends the run before anything is fitted."""
    groups = run.study.diagnostics.keys()
    return run.build("panel_groups", groups=groups, panel=imported) if groups else None


def fit(
    run: PanelRun, name: str, model: ModelSettings, outcome: str | None, blocks: dict[str, Built]
) -> Built:
    """One specification and outcome in all groups."""
    asked: dict[str, Any] = {"specification": name, "outcome": outcome}
    fits = [
        run.build(
            "panel_fit",
            partition=block,
            **asked,
            model=model,
            level=run.study.inference.level,
            block=job,
            modules=model.modules(),
        )
        for block, job in blocks.items()
    ]
    results = run.build("panel_results", **asked, correction=run.study.inference.correction, fits=fits)
    if run.study.datasets:
        run.build("panel_dataset", partition="-".join(filter(None, (name, outcome))), results=results)
    return results


def diagnose(
    run: PanelRun,
    name: str,
    model: ModelSettings,
    outcome: str | None,
    blocks: dict[str, Built],
    results: Built,
    named: Built | None,
) -> list[Built]:
    """Pages of the groups to look at; none if no group is."""
    asked = run.study.diagnostics
    if not asked.groups and not asked.worst:
        return []
    given: dict[str, Any] = {
        "specification": name,
        "outcome": outcome,
        "model": model,
        "seed": run.study.seed,
        "results": results,
        "blocks": list(blocks.values()),
        "modules": model.modules(),
    }
    residuals = run.build("panel_residuals", **given) if asked.worst else None
    pages = run.build(
        "panel_diagnostics",
        **given,
        named=named,
        worst=asked.worst,
        worst_by=asked.worst_by,
        residuals=residuals,
    )
    return [pages]
