"""Groups of a panel as the input of their fits: a change of other groups rebuilds none of these.

A block has only the columns that the formula reads, sorted by name, and only the levels that its groups have.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from shortloop.stages.stage import Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from shortloop.panel.formulas.column import NamedColumns


class Block(Stage):
    """Block: the rows of some groups, with the columns that one formula reads."""

    siblings = ("formula", "outcome", "beside")
    number: int
    blocks: int
    formula: str
    outcome: str | None  # None: that of the formula
    beside: list[str] | None  # columns that the model needs besides
    panel: Job

    def is_small(self) -> bool:
        return True

    def finish(self, out: Outputs) -> Finished:
        from shortloop.panel.data import block_of
        from shortloop.panel.stages.panel_files import load_panel, panel_results

        panel = load_panel(self.panel)
        of_block = partial(block_of, blocks=self.blocks)  # by which groups are sorted
        first, last = (bisect_left(panel.keys, self.number + i, key=of_block) for i in (0, 1))
        panel = replace(panel, columns=self._columns(panel.columns))
        return panel_results(panel.of_groups(first, last))

    def _columns(self, columns: NamedColumns) -> NamedColumns:
        """Select the columns that are read; all, if that fails: fits then say what is wrong."""
        from shortloop.base.errors import InputError
        from shortloop.panel.formulas.equation import Equation

        try:
            needed = Equation(self.formula, self.outcome).needed(columns, self.beside or ())
        except InputError:
            return columns
        return {name: needed[name] for name in sorted(needed)}
