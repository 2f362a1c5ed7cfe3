"""Settings of a panel file. Fields say unit and default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from shortloop.panel.formats.panel_format import FileInput, PanelInput, key_text
from shortloop.panel.models.model import OF_PREDICTIONS, WITH_INTERVALS, ModelSettings
from shortloop.settings.base import Name, ReportSettings, Settings, StudySettings, tag_of

Value = str | int | float


def keys_of(groups: Sequence[Value | tuple[Value, ...]]) -> list[list[str]]:
    """Name groups by the texts of the values that make each."""
    return [[key_text(value) for value in (each if isinstance(each, tuple) else (each,))] for each in groups]


class GroupSettings(Settings):
    """Columns that make groups."""

    by: tuple[str, ...] = Field(min_length=1, description="columns whose values make a group; no default")
    blocks: int = Field(
        8,
        ge=1,
        le=1000,
        description="blocks of groups, assigned by name; a change of a group refits its block; default 8",
    )


class InferenceSettings(Settings):
    """Tests and intervals."""

    level: float = Field(0.95, gt=0, lt=1, description="of confidence intervals; default 0.95")
    correction: Literal["none", "holm", "fdr_bh"] = Field(
        "fdr_bh",
        description="for the many tests of one coefficient over groups: holm, or fdr_bh (Benjamini and "
        "Hochberg); default 'fdr_bh'",
    )


class PaperSettings(Settings):
    """A table for a paper, and plots of coefficients."""

    groups: tuple[Value | tuple[Value, ...], ...] = Field(
        min_length=1, description="columns of the table, as `diagnostics.groups`; no default"
    )
    models: tuple[Name, ...] = Field((), description="specifications; default: all")
    terms: tuple[str, ...] = Field((), description="coefficients, in their order; default: all")
    labels: dict[str, str] = Field(
        default_factory=dict, description="what to write for names of coefficients, groups and specifications"
    )
    rows: tuple[str, ...] = Field(
        ("rsquared", "prsquared", "nobs"), description="columns of `fits` below; default: R², pseudo R², N"
    )
    digits: int = Field(3, ge=0, le=12, description="decimals; default 3")
    stars: tuple[float, ...] = Field((0.1, 0.05, 0.01), description="levels of p; default 0.1, 0.05, 0.01")
    formats: tuple[Literal["latex", "markdown", "excel"], ...] = Field(
        ("latex", "markdown"), description="formats; excel needs the extra of this name; default: the others"
    )
    plots: tuple[str, ...] = Field(
        (),
        description="coefficients that are plotted by group; of over 100 groups, those above; default: none",
    )

    def keys(self) -> list[list[str]]:
        """The groups that are named, each by the texts of the values that make it."""
        return keys_of(self.groups)


class DiagnosticsSettings(Settings):
    """Groups to look at: a page of plots for each, of each model and outcome."""

    groups: tuple[Value | tuple[Value, ...], ...] = Field(
        (),
        description="by the value that makes each, e.g. ['F07'], or by their values, if several columns make "
        "groups, e.g. [['F07', 2019]]; default: none",
    )
    worst: int = Field(8, ge=0, le=2000, description="how many of the worst groups, besides; default 8")
    worst_by: Literal["outliers", "normality", "leverage", "influence", "fit"] = Field(
        "outliers",
        description="which groups are worst, of those that were fitted: outliers, the largest share of rows "
        "whose standardised residual is beyond 3; normality, the largest Jarque-Bera statistic; leverage, "
        "the largest leverage, over the mean of the group; influence, the largest Cook's distance; fit, the "
        "smallest correlation of observed and fitted values; default 'outliers'",
    )

    def keys(self) -> list[list[str]]:
        """The groups that are named, each by the texts of the values that make it."""
        return keys_of(self.groups)


class PredictSettings(Settings):
    """Predictions: a row for each row of a file."""

    input: str | None = Field(
        None,
        description="file of new rows, in the format of [input], relative to the panel file; default: the "
        "rows that are fitted",
    )
    models: tuple[Name, ...] = Field((), description="specifications that predict; default: all")
    interval: float | None = Field(
        None, gt=0, lt=1, description="level of intervals, of ols, wls, logit and glm; default: no intervals"
    )


class Panel(StudySettings):
    """One panel: everything that decides what is computed."""

    name: Name = Field(description="name of the panel and of its folder of results; no default")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of the simulation; default 0")
    input: PanelInput = Field(description="format of the rows and where they are; no default")
    groups: GroupSettings = Field(description="what makes a group; no default")
    models: dict[Name, ModelSettings] = Field(
        min_length=1, description="specifications, each by a name; no default"
    )
    inference: InferenceSettings = Field(InferenceSettings(), description="tests and intervals")
    diagnostics: DiagnosticsSettings = Field(
        DiagnosticsSettings(), description="groups to look at: pages of plots"
    )
    predict: PredictSettings | None = Field(None, description="predictions of rows; default: none")
    paper: PaperSettings | None = Field(None, description="a table for a paper; default: none")
    report: ReportSettings = Field(ReportSettings(), description="the report")
    csv: bool = Field(False, description="whether tables are also written as CSV; default false: Parquet")
    datasets: bool = Field(
        False, description="whether tables of results are also kept as datasets of exax; default false"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Panel:
        for name, model in self.models.items():
            twice = sorted({each for each in model.outcomes if model.outcomes.count(each) > 1})
            if twice:
                raise ValueError(f"models.{name}.outcomes: {', '.join(twice)} named twice")
            if model.window is not None and getattr(model, "keep", False):
                raise ValueError(f"models.{name}.keep: not with window; `fit_frame` keeps models of windows")
        self._check_predict()
        wanted = self.paper.models if self.paper else ()
        if unknown := [name for name in wanted if name not in self.models]:
            raise ValueError(
                f"paper.models: no model is called {unknown[0]}; there are {', '.join(self.models)}"
            )
        return self

    def _check_predict(self) -> None:
        if self.predict is None:
            return
        if unknown := [name for name in self.predict.models if name not in self.models]:
            raise ValueError(
                f"predict.models: no model is called {unknown[0]}; there are {', '.join(self.models)}"
            )
        if self.predict.input is not None and not isinstance(self.input, FileInput):
            raise ValueError("predict.input: new rows need a file of the format csv or parquet in input")
        for name in self.predicted():
            others = sorted({*self.models[name].roles()} - OF_PREDICTIONS)
            if others or self.models[name].window is not None:
                field = others[0] if others else "window"
                raise ValueError(
                    f"models.{name}.{field}: there are no predictions; name in predict.models others"
                )
            if self.predict.interval is not None and tag_of(type(self.models[name])) not in WITH_INTERVALS:
                hint = "name in predict.models the others, or leave out interval"
                raise ValueError(f"predict.interval: models.{name} has no intervals; {hint}")

    def predicted(self) -> tuple[str, ...]:
        """Names of the specifications that predict rows."""
        return () if self.predict is None else self.predict.models or tuple(self.models)

    def in_words(self) -> str:
        models = ", ".join(f"{name} ({tag_of(type(model))})" for name, model in self.models.items())
        return f"panel {self.name}, a group for each {' and '.join(self.groups.by)}, models {models}"
