"""Groups to look at, chosen by name: unknown ones are refused before anything is fitted."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence

from shortloop.base.errors import InputError
from shortloop.stages.stage import Finished, Job, Outputs, Stage

NEAR = 3  # names that are shown for one that is not there
FEW = 20_000  # up to so many groups, the nearest names are shown however far off


class NamedGroups(Stage):
    """Named groups: those that were chosen by name, each once."""

    groups: list[list[str]]  # by the values that make them
    field: str = "diagnostics.groups"  # of the settings, that names them
    panel: Job

    def is_small(self) -> bool:
        return True

    def finish(self, out: Outputs) -> Finished:
        facts = self.panel.facts
        keys, by = [*map(tuple, facts["keys"])], facts["by"]
        there, asked = set(keys), list(dict.fromkeys(map(tuple, self.groups)))
        if unknown := [group for group in asked if group not in there]:
            near = list(dict.fromkeys(name for group in unknown[:NEAR] for name in _near(group, keys)))
            found = ", ".join(_shown(group) for group in unknown[:NEAR]) + " …" * (len(unknown) > NEAR)
            expected = f"values of {', '.join(by)}, e.g. {', '.join(near[: 2 * NEAR])}"
            problem = "no such group" if len(unknown) == 1 else "no such groups"
            raise InputError(problem, field=self.field, found=found, expected=expected)
        return Finished({"groups": [list(group) for group in asked]})


def _near(group: Sequence[str], keys: Sequence[tuple[str, ...]]) -> list[str]:
    texts = [" ".join(key) for key in keys]
    found = difflib.get_close_matches(" ".join(group), texts, NEAR, cutoff=0.0 if len(keys) < FEW else 0.6)
    return found or texts[:NEAR]


def _shown(group: Sequence[str]) -> str:
    return json.dumps(list(group) if len(group) > 1 else group[0], ensure_ascii=False)
