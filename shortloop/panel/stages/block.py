"""Some groups of a panel: what their fits depend on, so that a change of others is none for them.

Texts are numbered within the block: one that only other groups have is not in it.
"""

from __future__ import annotations

from shortloop.worker.stage import Finished, Job, Outputs, Stage

__all__ = ["Block"]


class Block(Stage):
    """Block: the rows of some groups."""

    number: int
    blocks: int
    panel: Job

    def is_small(self) -> bool:
        """It only copies."""
        return True

    def finish(self, out: Outputs) -> Finished:
        """Copy them."""
        import numpy as np

        from shortloop.panel.data import block_of
        from shortloop.panel.stages.panel_files import column_facts, column_values, load_columns, load_keys

        keys = load_keys(self.panel)
        groups = [g for g, key in enumerate(keys) if block_of(key, self.blocks) == self.number]
        starts = np.asarray(self.panel.arrays["starts"])
        first = groups[0] if groups else 0
        last = groups[-1] + 1 if groups else 0
        rows = slice(int(starts[first]), int(starts[last]))
        columns = {name: column.taken(rows).trimmed() for name, column in load_columns(self.panel).items()}
        facts = column_facts(columns, self.panel.facts["by"], keys[first:last])
        return Finished(facts, column_values(columns, starts[first : last + 1] - starts[first]))
