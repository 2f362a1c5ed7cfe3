"""Tables of one specification and outcome as datasets of exax, each row in the slice of its group."""

from __future__ import annotations

from typing import Any

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {"partition": None}
jobs = ("results",)


def synthesis(job: Any) -> None:
    from shortloop.panel.stages.imports import write_tables
    from shortloop.stages.records import write_record

    written = write_tables(jobs.results.path, job.datasetwriter)  # type: ignore[attr-defined]
    write_record("panel_dataset", options["partition"], {}, facts={"datasets": written})
