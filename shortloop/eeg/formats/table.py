"""Ready-made features in a text table: a row per trial, with its class and a column per feature."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.checks.participants import composed
from shortloop.eeg.formats.files.delimited import MISSING, decimal_sign, numbers, read_table, require_dialect
from shortloop.eeg.formats.recording_format import FeaturesInput, Found, Patterns
from shortloop.eeg.headers.units import Unit

SHOWN = 20  # names in a message


class TableInput(FeaturesInput):
    """Tables (.csv, .tsv) with a row for each trial: its class, and a number for each feature.

    One file may hold several participants and phases, each told by a column. All columns not named here
    are features.
    """

    classes_in = "label"
    remedy = "leave out columns that are no features: input.drop"
    format: Literal["table"] = Field(description="ready-made features in text with a row for each trial")
    label: str = Field("label", description="column of the classes; default 'label'")
    participant: str | None = Field(
        None, description="column of participants, if there are several; default: none"
    )
    phase: str | None = Field(None, description="column of phases, if there are several; default: none")
    drop: Patterns = Field((), description="columns that are no features, such as the run; default: none")
    unit: Unit = Field(
        "a.u.", description="unit of the features, as they are; 'a.u.' (arbitrary) is the default"
    )
    separator: str | None = Field(
        None, min_length=1, max_length=1, description="between values; default: what each file has"
    )
    decimal: Literal[".", ","] | None = Field(
        None, description="between whole numbers and fractions; default: what each file has"
    )

    def warm_up(self) -> None:
        import pandas as pd  # noqa: F401

    def holds_several(self) -> bool:
        return self.participant is not None

    def unit_of(self, kind: str) -> str:
        return self.unit

    def find_in(self, file: Path, labels: Path | None, participant: str, phase: str) -> Found:
        table = self._rows(self._table(file), participant, phase)
        given = {self.label, self.participant, self.phase, *self.drop}
        features = table[[name for name in table.columns if name not in given]]
        wrong = [name for name, kind in features.dtypes.items() if kind.kind not in "iuf"]
        if wrong or not len(features.columns):
            problem = "columns hold values that are not numbers" if wrong else "the table has no features"
            found = ", ".join(wrong[:SHOWN]) or "no column but those that the study names"
            expected = "numbers in each row of each feature"
            hint = "drop columns that are no features (input.drop), or repair the file"
            raise InputError(problem, field="input.drop", found=found, expected=expected, hint=hint)
        values = features.to_numpy("float64")[None]
        return Found(_texts(table[self.label]).tolist(), tuple(features.columns), values)

    def participants_in(self, file: Path) -> list[tuple[str, str]]:
        """List the participants and phases of a file's rows."""
        from shortloop.eeg.formats.files.process import reading

        with reading(file, None):
            table = self._table(file)
        named = self.participant, self.phase
        columns = [_texts(table[name]) if name else [""] * len(table) for name in named]
        return [*dict.fromkeys(zip(*columns, strict=True))]

    def _table(self, file: Path) -> Any:
        import numpy as np

        given = {"label": self.label, "participant": self.participant, "phase": self.phase}
        named = {field: name for field, name in given.items() if name}
        dialect = require_dialect(file, self.separator, "trial")
        texts = [name for name in dialect.names if name in (*named.values(), *self.drop)]
        features = [name for name in dialect.names if name not in texts]
        values = (value for name in features for value in dialect.column(name))
        decimal = self.decimal or decimal_sign(values, dialect.separator, "input.decimal")
        table = read_table(file, dialect, texts=texts if decimal == "." else None)
        columns = ", ".join(table.columns[:SHOWN]) + (" …" if len(table.columns) > SHOWN else "")
        for field, name in [*named.items(), *(("drop", each) for each in self.drop)]:
            if name not in table:
                hint = "name a column of the file, or another separator (input.separator)"
                problem = f"there is no column '{name}'"
                raise InputError(problem, field=f"input.{field}", found=columns, hint=hint)
        for name in features:
            values = numbers(table[name], decimal)
            missing = table[name].isna() | table[name].astype(str).str.strip().isin(MISSING)
            if not (np.isnan(values) & ~missing).any():
                table[name] = values
        return table

    def _rows(self, table: Any, participant: str, phase: str) -> Any:
        """Select rows of a participant and phase, and refuse rows without a class."""
        asked = ("participant", self.participant, participant), ("phase", self.phase, phase)
        for field, column, wanted in asked:
            if column is None:
                continue
            seen = _texts(table[column])
            if not (seen == composed(wanted)).any():
                problem = f"the table has no row of {'the phase ' + wanted if field == 'phase' else wanted}"
                found = ", ".join(seen.unique()[:SHOWN])
                hint = "write names in the study file as the table has them"
                raise InputError(problem, field=f"input.{field}", found=found, hint=hint)
            table = table[seen == composed(wanted)]
        if empty := int((_texts(table[self.label]) == "").sum()):
            found = f"{empty} of {len(table)} rows without a value of '{self.label}'"
            hint = "fill them in, or leave these rows out of the file"
            raise InputError("rows have no class", field="input.label", found=found, hint=hint)
        return table


def _texts(column: Any) -> Any:
    """Return values for comparison: ``1`` for ``1.0``, and composed accents."""
    return column.fillna("").str.strip().str.removesuffix(".0").map(composed)
