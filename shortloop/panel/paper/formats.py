"""Table of coefficients as text: LaTeX, Markdown, Excel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from shortloop.base.extras import need
from shortloop.base.text import one_line

if TYPE_CHECKING:
    import pandas as pd

ESCAPED = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "²": "$^2$"}
ESCAPED |= {each: f"\\{each}" for each in "&%$#_{}"} | {each: f"${each}$" for each in "<>|−"}


@dataclass(frozen=True)
class PaperTable:
    """A table of coefficients as text.

    Parameters
    ----------
    heads : sequence of sequence of str
        Lines of headings, each with one for each column.
    rows : sequence of (str, sequence of str)
        Label and cells of each row.
    rules : int
        Number of rows of coefficients; a rule follows them.
    notes : sequence of str
        Lines below the table.
    """

    heads: Sequence[Sequence[str]]
    rows: Sequence[tuple[str, Sequence[str]]]
    rules: int
    notes: Sequence[str]

    def to_frame(self) -> pd.DataFrame:
        """Make a frame of texts, with the headings as columns."""
        import pandas as pd

        several: Any = [*self.heads]
        columns: Any = several[0] if len(several) == 1 else pd.MultiIndex.from_arrays(several)
        index = [label for label, _ in self.rows]
        return pd.DataFrame([cells for _, cells in self.rows], index, columns)

    def to_latex(self) -> str:
        """Write a ``tabular`` with the rules of the package booktabs."""
        size = len(self.heads[0])
        lines = [rf"\begin{{tabular}}{{l{'c' * size}}}", r"\toprule"]
        for head in self.heads:
            parts = [rf"\multicolumn{{{count}}}{{c}}{{{_latex(name)}}}" for name, count in _runs(head)]
            lines.append(f" & {' & '.join(parts)} \\\\")
        lines.append(r"\midrule")
        for place, (label, cells) in enumerate(self.rows):
            if place == self.rules and place:
                lines.append(r"\midrule")
            lines.append(f"{_latex(label)} & {' & '.join(map(_latex_number, cells))} \\\\")
        lines.append(r"\bottomrule")
        lines += [
            rf"\multicolumn{{{size + 1}}}{{l}}{{\footnotesize {_latex(note)}}} \\" for note in self.notes
        ]
        return "\n".join([*lines, r"\end{tabular}", ""])

    def to_markdown(self) -> str:
        """Write a table of Markdown, with the notes as a paragraph below."""
        heads = [" / ".join(dict.fromkeys(parts)) for parts in zip(*self.heads, strict=True)]
        lines = [_markdown(["", *heads]), f"|---|{'---:|' * len(heads)}"]
        lines += [_markdown([label, *cells]) for label, cells in self.rows]
        notes = (re.sub(r"([*_])", r"\\\1", note) for note in self.notes)
        return "\n".join([*lines, "", *(f"{note}  " for note in notes), ""])

    def to_excel(self, file: str | Path | IO[bytes]) -> None:
        """Write a sheet of texts; needs openpyxl."""
        need("excel", ["openpyxl"])
        import pandas as pd

        lines: list[list[str | None]] = [["", *head] for head in self.heads]
        lines += [[label, *cells] for label, cells in self.rows]
        made = BytesIO()
        lines += [[note, *[None] * len(self.heads[0])] for note in self.notes]
        pd.DataFrame(lines).to_excel(made, index=False, header=False)
        content = _without_time(made)
        if isinstance(file, str | Path):
            Path(file).write_bytes(content)
        else:
            file.write(content)


def _runs(names: Sequence[str]) -> list[tuple[str, int]]:
    """Count how often each name follows itself."""
    found: list[tuple[str, int]] = []
    for name in names:
        if found and found[-1][0] == name:
            found[-1] = name, found[-1][1] + 1
        else:
            found.append((name, 1))
    return found


def _latex(text: str) -> str:
    escaped = "".join(ESCAPED.get(each, each) for each in one_line(text))
    return (
        f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped
    )  # which belong to the row's end before


def _latex_number(text: str) -> str:
    text = re.sub(r"^(\(?)-", r"\1$-$", text)
    return re.sub(r"(\*+)$", r"$^{\1}$", text)


def _without_time(sheet: IO[bytes]) -> bytes:
    """Pack an Excel file again without times, for equal bytes."""
    made = BytesIO()
    with ZipFile(sheet) as old, ZipFile(made, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = re.sub(rb"\d{4}-\d\d-\d\dT[\d:]{8}Z", b"2000-01-01T00:00:00Z", old.read(name))
            new.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return made.getvalue()


def _markdown(cells: Sequence[str]) -> str:
    escaped = [re.sub(r"([|*_`<~\\[\]])", r"\\\1", one_line(each)) for each in cells]
    return f"| {' | '.join(escaped)} |"
