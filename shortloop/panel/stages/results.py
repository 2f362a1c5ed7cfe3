"""Tables of one specification and outcome, from the fits of all blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values

if TYPE_CHECKING:
    from shortloop.panel.results import Results as Found


class Results(Stage):
    """Results: fits of all blocks to tables."""

    siblings = ("specification", "outcome")
    specification: str
    outcome: str | None
    correction: str
    fits: list[Job]  # of each block
    csv: bool = False

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        from shortloop.panel import statistics as names
        from shortloop.panel.results import check_computed, merge
        from shortloop.panel.stages.panel_files import group_facts
        from shortloop.panel.statistics import ALPHA, BOOTSTRAP, SCORES, STATUSES, TESTS

        found = merge([_results(job) for job in self.fits])
        check_computed(found, f"models.{self.specification}.formula")
        tables = found.tables(self.correction)
        counts = np.bincount(np.asarray(found.arrays["status"], int), minlength=len(STATUSES))
        batched = int((np.asarray(found.arrays["path"]) == 0).sum())
        said = {**names.COEFFICIENTS, **names.FITS, **names.CODES, **names.MARGINS, **TESTS, **SCORES}
        said |= {**BOOTSTRAP, ALPHA: names.CHOSEN}
        arrays = {
            name: Values(values, f"groups × {_axis(name)}" if values.ndim == 2 else "groups", said[name])
            for name, values in found.arrays.items()
        }
        listed = {"tests": list(found.hypotheses), "scores": list(found.scored)}
        listed = {name: names for name, names in listed.items() if names}
        return Finished(
            {
                "specification": self.specification,
                "outcome": self.outcome,
                "names": list(found.names),
                **group_facts(found.by, found.keys, found.kinds),
                "statuses": {name: int(count) for name, count in zip(STATUSES, counts, strict=True) if count},
                "batched": batched,
                **listed,
            },
            arrays,
            files={
                f"{name}.csv": table.to_csv(index=False).encode()
                for name, table in tables.items()
                if self.csv
            },
            tables=tables,
            coordinates={"groups": "keys", "coefficients": "names", **{name: name for name in listed}},
        )


def _axis(name: str) -> str:
    """Name the second axis of an array."""
    from shortloop.panel.statistics import SCORES, TESTS

    return "tests" if name in TESTS else "scores" if name in SCORES else "coefficients"


def _results(job: Job) -> Found:
    from shortloop.panel.results import Results as Found

    facts = job.facts  # a copy, of perhaps many groups
    keys = [*map(tuple, facts["keys"])]
    said = [""] * len(keys)
    for name in job.files:
        if name.startswith("said/"):
            for group, texts in json.loads((job.path / name).read_text(encoding="utf-8")).items():
                said[int(group)] = "; ".join(texts)
    by, names, terms, kinds = (tuple(facts[name]) for name in ("by", "names", "terms", "kinds"))
    tests, scores = (tuple(facts.get(name, ())) for name in ("tests", "scores"))
    return Found(by, keys, names, dict(job.arrays), said, terms, tests, scores, kinds=kinds)
