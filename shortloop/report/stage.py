"""The report stage, which redraws only figures whose data changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shortloop.report.files import FIGURES, REPORT, FigureFormat
from shortloop.stages.stage import CollectingStage, Outputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from shortloop.report.page import Page


def warm_up() -> None:
    """Import what drawing needs, so that processes forked later share it."""
    from shortloop.report.style import import_matplotlib

    import_matplotlib(("png",))


class ReportStage(CollectingStage):
    """A page and its figures; a figure is a unit, known by its name and by what it shows."""

    unit_fields = ("formats",)
    formats: list[FigureFormat] = []  # noqa: RUF012  beside PNG

    @abstractmethod
    def drawings(self) -> Sequence[Any]:
        """Collect the figures, each as a `Drawing`; called once in each process that opens the stage."""

    def open(self) -> None:
        from shortloop.report.style import import_matplotlib
        from shortloop.stages.content import content_of

        self._formats: tuple[FigureFormat, ...] = ("png", *self.formats)
        import_matplotlib(self._formats)
        self._drawings = self.drawings()
        self._keys = [content_of([each.name, each.shown]) for each in self._drawings]

    def units(self) -> list[float]:
        return [each.cost for each in self._drawings]

    def unit_key(self, unit: int) -> bytes:
        return self._keys[unit]

    def unit_name(self, unit: int) -> str:
        return f"figure {self._drawings[unit].name}"

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        import numpy as np

        from shortloop.report.style import encoded

        each = self._drawings[unit]
        files = encoded(each.draw(each.shown), self._formats)
        return {ending: np.frombuffer(data, np.uint8) for ending, data in files.items()}

    def report_files(self, out: Outputs, page: Page) -> dict[str, bytes]:
        import numpy as np

        from shortloop.report.page import files_beside, html_of
        from shortloop.stages.rows import unpack

        figures = {
            f"{FIGURES}/{each.name}.{ending}": np.asarray(data).tobytes()
            for each, row in zip(self._drawings, out.rows, strict=True)
            for ending, data in unpack(row).items()
        }
        return {REPORT: html_of(page, figures, self._formats), **figures, **files_beside(page)}
