"""Regressions over groups: a panel to tables, one job per specification, outcome and block of groups."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shortloop.exax.client import Urd
from shortloop.panel.pipeline import PanelRun, deliver, import_new_rows, import_panel, run_panel
from shortloop.plan.pipeline import Built
from shortloop.settings.base import tag_of

if TYPE_CHECKING:
    from shortloop.panel.settings import PaperSettings

Asked = dict[str, Any]
"""Options of all jobs of one specification and outcome."""
Blocks = dict[str, Built]
"""A job of each block of groups."""
description = "regressions over groups: a panel to tables, for the panel that STUDY names"


def main(urd: Urd) -> int:
    return run_panel(urd, pipeline, deliver)


def pipeline(run: PanelRun) -> Built:
    return fit_all(run, import_panel(run))


def fit_all(run: PanelRun, imported: Built) -> Built:
    """From rows that a job has brought in to the report."""
    panel = run.study
    named = name_groups(run, imported)
    new = import_new_rows(run) if panel.predict is not None and panel.predict.input is not None else None

    @functools.cache  # specifications that read the same share it
    def cut(rows: Built, formula: str, outcome: str | None, *beside: str) -> Blocks:
        return cut_into_blocks(run, rows, formula, outcome, beside)

    numbers = number_rows(run, imported)
    results, pages, pairs = [], [], []
    for name, model in panel.models.items():
        for outcome in model.outcomes or (None,):
            asked = {
                "specification": name,
                "outcome": outcome,
                # other outcomes are none of its business
                "model": model.model_copy(update={"outcomes": ()}).seeded(panel.seed),
                "modules": model.modules(),
            }
            reads = model.formula, outcome, *sorted(model.roles().values())
            blocks = cut(imported, *reads)
            fits = fit(run, asked, blocks)
            found = put_together(run, name, outcome, fits)
            results.append(found)
            pairs.append(name)
            pages += diagnose(run, asked, blocks, fits, found, named, numbers)
            if getattr(model, "keep", False):
                keep_models(run, asked, blocks, fits)
            if name in panel.predicted():
                predict(run, asked, blocks, fits, cut(new, *reads) if new else None, new or imported)
    if panel.paper is not None:
        write_paper(run, panel.paper, results, pairs)
    settings = panel.model_dump(mode="json")
    return run.build(
        "panel_report",
        panel=settings,
        results=results,
        diagnostics=pages,
        imported=imported,
        formats=panel.report.formats,
    )


def name_groups(run: PanelRun, imported: Built) -> Built | None:
    """Groups that were chosen by name; a wrong one ends the run before anything is fitted."""
    if (paper := run.study.paper) is not None:
        run.build("panel_groups", groups=paper.keys(), field="paper.groups", panel=imported)
    groups = run.study.diagnostics.keys()
    return run.build("panel_groups", groups=groups, panel=imported) if groups else None


def number_rows(run: PanelRun, imported: Built) -> Built | None:
    """Numbers of rows in the file, for pages; None of a dataset."""
    wanted, is_dataset = run.study.diagnostics, imported.stage == "import_dataset"
    if not (wanted.groups or wanted.worst) or (is_dataset and tag_of(type(run.study.input)) != "csvimport"):
        return None
    return run.build("panel_rows", panel=imported)


def cut_into_blocks(
    run: PanelRun, imported: Built, formula: str, outcome: str | None, beside: Sequence[str]
) -> Blocks:
    """Rows of each block, with the columns that a formula reads, and those that a model needs beside."""
    blocks = run.study.groups.blocks
    return {
        f"{number:03d}": run.build(
            "panel_block",
            partition=f"{number:03d}",
            number=number,
            blocks=blocks,
            formula=formula,
            outcome=outcome,
            beside=list(beside) or None,
            panel=imported,
        )
        for number in range(blocks)
    }


def fit(run: PanelRun, asked: Asked, blocks: Blocks) -> Blocks:
    """One specification and outcome in all groups."""
    level = run.study.inference.level
    return {
        block: run.build("panel_fit", partition=block, **asked, level=level, block=job)
        for block, job in blocks.items()
    }


def put_together(run: PanelRun, name: str, outcome: str | None, fits: Blocks) -> Built:
    """Tables of one specification and outcome."""
    results = run.build(
        "panel_results",
        specification=name,
        outcome=outcome,
        correction=run.study.inference.correction,
        csv=run.study.csv,
        fits=list(fits.values()),
    )
    if run.study.datasets:
        run.build("panel_dataset", partition="-".join(filter(None, (name, outcome))), results=results)
    return results


def predict(
    run: PanelRun, asked: Asked, blocks: Blocks, fits: Blocks, new: Blocks | None, rows: Built
) -> Built:
    """Predictions of the rows of the fit, or of new ones."""
    wanted = run.study.predict
    assert wanted is not None
    parts = [
        run.build(
            "panel_predict",
            partition=block,
            **asked,
            interval=wanted.interval,
            block=job,
            fit=fits[block],
            new=new and new[block],
        )
        for block, job in blocks.items()
    ]
    named = {"specification": asked["specification"], "outcome": asked["outcome"]}
    return run.build("panel_predictions", **named, csv=run.study.csv, parts=parts, panel=rows)


def write_paper(run: PanelRun, wanted: PaperSettings, results: list[Built], names: list[str]) -> Built:
    """A table for a paper, of all specifications or some."""
    some = [each for each, name in zip(results, names, strict=True) if name in (wanted.models or names)]
    return run.build("panel_paper", settings=wanted, level=run.study.inference.level, results=some)


def keep_models(run: PanelRun, asked: Asked, blocks: Blocks, fits: Blocks) -> Built:
    """The fitted estimator of each group, as an object."""
    jobs: Asked = {"blocks": list(blocks.values()), "fits": list(fits.values())}
    return run.build("panel_models", **asked, seed=run.study.seed, **jobs)


def diagnose(
    run: PanelRun,
    asked: Asked,
    blocks: Blocks,
    fits: Blocks,
    results: Built,
    named: Built | None,
    numbers: Built | None,
) -> list[Built]:
    """Pages of the groups to look at; none if no group is."""
    wanted, given = run.study.diagnostics, {**asked, "seed": run.study.seed}
    if asked["model"].window is not None or not (wanted.groups or wanted.worst):
        return []
    residuals = [
        run.build("panel_residuals", partition=block, **given, block=job, fit=fits[block])
        for block, job in blocks.items()
        if wanted.worst
    ]
    pages = run.build(
        "panel_diagnostics",
        **given,
        named=named,
        worst=wanted.worst,
        worst_by=wanted.worst_by,
        results=results,
        residuals=residuals,
        blocks=list(blocks.values()),
        fits=list(fits.values()),
        rows=numbers,
    )
    return [pages]
