"""Any estimator of scikit-learn's interface in every group, with cross-validated scores."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from shortloop.base.errors import InputError
from shortloop.panel.models.model import ModelSettings

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from shortloop.base.types import FloatArray
    from shortloop.panel.formulas.design import Design

Value = None | bool | int | float | str
CONSTANT = "Intercept"
DEFAULT_SCORE = "score"  # of the estimator itself: R² of regressors, accuracy of classifiers
SHOWN = 300  # characters of a warning


class Scored(ModelSettings):
    """A model of scikit-learn's interface with cross-validated scores."""

    folds: int = Field(5, ge=0, description="of the cross-validation, at least 2; 0: no scores; default 5")
    split: Literal["rows", "shuffled", "time"] = Field(
        "rows",
        description="rows of a fold: rows, consecutive rows, of each class if the estimator is a classifier; "
        "shuffled, these in random order; time, each fold is tested with the rows before it; default 'rows'",
    )
    fold_by: str | None = Field(
        None, description="column whose values are never split between folds; default: none"
    )
    scoring: tuple[str, ...] = Field(
        (), description="scores by scikit-learn's names, e.g. 'r2'; default: the estimator's own"
    )
    keep: bool = Field(False, description="whether fitted estimators are kept; default false")
    seed: int | None = Field(
        None, ge=0, lt=2**32, description="seed of estimators and shuffled folds; default: that of the panel"
    )
    default_score: ClassVar[str] = DEFAULT_SCORE
    _key: tuple[str, ...] = PrivateAttr(())  # the group that it is fitted to
    _has_constant: bool = PrivateAttr(True)  # whether its formula has one

    @model_validator(mode="after")
    def _folds_can_be(self) -> Self:
        if self.folds == 1:
            raise ValueError("folds: at least 2, or 0 for no scores")
        if self.fold_by is not None and self.split != "rows":
            raise ValueError(f"fold_by: not with split = {self.split!r}; leave out one of them")
        if not self.folds and (self.scoring or self.fold_by or self.split != "rows"):
            raise ValueError("folds: scoring, split and fold_by need folds; 0 makes none")
        if self.tests:
            raise ValueError("tests: models of scikit-learn have no standard errors to test with")
        return self

    def roles(self) -> dict[str, str]:
        return super().roles() | ({} if self.fold_by is None else {"clusters": self.fold_by})

    def scored(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.scoring)) or (self.default_score,) if self.folds else ()

    def seeded(self, seed: int) -> Self:
        return self if self.seed is not None else self.model_copy(update={"seed": seed})

    def of_group(self, key: tuple[str, ...]) -> Self:
        return self._with(_key=key)

    def _with(self, **private: Any) -> Self:
        made = self.model_copy()
        for name, value in private.items():
            setattr(made, name, value)
        return made

    def takes_constant(self) -> bool:
        """True if the constant is a regressor, not the estimator's own."""
        return False

    def warm_up(self) -> None:
        self.check()

    def check(self) -> None:
        import difflib

        from sklearn.metrics import get_scorer_names

        self.make()
        names = get_scorer_names()
        for name in self.scoring:
            if name not in names:
                near = ", ".join(difflib.get_close_matches(name, names, 4, cutoff=0.0))
                raise InputError("no such score", field="scoring", found=name, expected=f"e.g. {near}")

    def unfitted(self) -> Any:
        """Make the estimator with its own defaults of random states."""
        raise NotImplementedError

    def make(self) -> Any:
        """Make the estimator, seeded for the group."""
        made = self.unfitted()
        params = made.get_params()
        names = [each for each in params if f"__{each}".endswith("__random_state") and params[each] is None]
        states = self._states(len(names)) if names else ()
        return made.set_params(**dict(zip(sorted(names), states, strict=True)))

    def _states(self, count: int) -> list[int]:
        from shortloop.base.seeds import seed_for

        seed = seed_for(self.seed or 0, "sklearn", *map(ascii, self._key))
        return [*map(int, seed.generate_state(count))]

    def regressors(self, design: Design) -> pd.DataFrame:
        """Return the regressors as a frame, without an unwanted constant."""
        import pandas as pd

        columns = dict(zip(design.names, design.columns, strict=True))
        if not self.takes_constant():
            columns.pop(CONSTANT, None)
        return pd.DataFrame(columns, index=pd.RangeIndex(len(design.outcome)))

    def fit_one(self, outcome: FloatArray, rows: Any, roles: dict[str, Any]) -> Any:
        return self.make().fit(rows, outcome)

    def fitted(self, design: Design) -> Any:
        """Fit the estimator to a group."""
        model = self._with(_has_constant=CONSTANT in design.names)
        return model.fit_one(design.outcome, self.regressors(design), {})

    def predicted(self, design: Design, fitted: Any) -> FloatArray:
        """Predict outcomes; of 0 and 1 the probability of 1, if known."""
        import numpy as np

        rows = self.regressors(design)
        if [*getattr(fitted, "classes_", ())] == [0.0, 1.0] and hasattr(fitted, "predict_proba"):
            return np.asarray(fitted.predict_proba(rows)[:, 1], np.float64)
        return np.asarray(fitted.predict(rows), np.float64)

    def fit_alone(self, design: Design) -> tuple[dict[str, Any], int, list[str], Any]:
        import numpy as np
        from sklearn.exceptions import ConvergenceWarning

        from shortloop.panel.statistics import Status

        rows, outcome = self.regressors(design), design.outcome
        known: dict[str, Any] = {"nobs": float(len(outcome))}
        if len(outcome) < max(self.folds + (self.split == "time"), 2):
            return known, Status.TOO_FEW_ROWS, [f"{len(outcome)} rows, {self.folds} folds"], None
        if not rows.shape[1]:
            return known, Status.FAILED, ["no regressor beside the constant"], None
        if not (np.isfinite(rows.to_numpy()).all() and np.isfinite(outcome).all()):
            return known, Status.VALUES_NOT_FINITE, [], None
        status, said, made = Status.FITTED, list[str](), None
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # of what is collected meanwhile
            try:
                made = self.fitted(design)
                known |= self.coefficients(made, design.names, said)
                if any(issubclass(each.category, ConvergenceWarning) for each in caught):
                    status = Status.NOT_CONVERGED
                if self.folds:
                    model = self._with(_has_constant=CONSTANT in design.names)
                    known |= model._scores(rows, outcome, design.roles)  # noqa: SLF001  of this class
            except Exception as error:  # the estimator may be anybody's
                status = Status.FAILED
                said.append(_line(f"{type(error).__name__}: {error}"))
        said += dict.fromkeys(f"{each.category.__name__}: {_line(str(each.message))}" for each in caught)
        if not np.ptp(outcome):
            status = Status.CONSTANT_OUTCOME
        elif status == Status.FITTED and not np.isfinite(known.get("score", 0.0)).all():
            status = Status.FAILED
        return known, status, said, made if self.keep and status == Status.FITTED else None

    def _scores(self, rows: Any, outcome: FloatArray, roles: Mapping[str, Any]) -> dict[str, Any]:
        import numpy as np
        from sklearn.model_selection import cross_validate

        made, clusters = self.make(), roles.get("clusters")
        scoring = None if self.scored() == (DEFAULT_SCORE,) else list(self.scored())
        found = cross_validate(
            made, rows, outcome, groups=clusters, cv=self._splitter(made), scoring=scoring
        )  # fmt: skip
        folds = np.array([found[f"test_{name}"] for name in self.scored()])
        return {"score": folds.mean(axis=1), "score_std": folds.std(axis=1)}

    def _splitter(self, made: Any) -> Any:
        from sklearn import model_selection as of
        from sklearn.base import is_classifier

        if self.fold_by is not None:
            return of.GroupKFold(self.folds)
        if self.split == "time":
            return of.TimeSeriesSplit(self.folds)
        kind = of.StratifiedKFold if is_classifier(made) else of.KFold
        if self.split == "shuffled":
            return kind(self.folds, shuffle=True, random_state=self._states(1)[0])
        return kind(self.folds)

    def coefficients(self, made: Any, names: tuple[str, ...], said: list[str]) -> dict[str, Any]:
        """Return coefficients or importances in the order of the columns."""
        import numpy as np

        passed = [name for name in names if name != CONSTANT or self.takes_constant()]
        found: dict[str, Any] = {}
        if (steps := getattr(made, "n_iter_", None)) is not None:
            found["iterations"] = float(np.max(steps))
        values = getattr(made, "coef_", None)
        is_linear = values is not None
        values = np.asarray(
            getattr(made, "feature_importances_", np.nan) if values is None else _dense(values)
        )
        values = values.reshape(-1) if values.size == len(passed) else np.full(len(passed), np.nan)
        table = dict(zip(passed, values.astype(np.float64), strict=True))
        if is_linear:
            constant = np.asarray(getattr(made, "intercept_", 0.0), np.float64).reshape(-1)
            if CONSTANT in names and not self.takes_constant() and len(constant) == 1:
                table[CONSTANT] = constant[0]
            elif constant.any() and np.isfinite(values).all():
                said.append(f"the intercept {constant[0]:.6g} is no coefficient of the formula")
        return {**found, "params": np.array([table.get(name, np.nan) for name in names])}


class Sklearn(Scored):
    """Any estimator of scikit-learn's interface, by its import path."""

    model: Literal["sklearn"] = Field(description="any estimator of scikit-learn's interface, by its name")
    estimator: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="import path of its class, or of a function that makes it, e.g. "
        "'sklearn.ensemble.RandomForestRegressor', or of a module of the project; no default",
    )
    arguments: dict[str, Value | list[Value]] = Field(
        default_factory=dict, description="its arguments; default: its own defaults"
    )
    constant: bool = Field(
        False, description="whether the constant column of the formula is a regressor, too; default false"
    )

    def takes_constant(self) -> bool:
        return self.constant

    def modules(self) -> list[str]:
        return [*super().modules(), self.estimator.rpartition(".")[0]]

    def unfitted(self) -> Any:
        module, _, name = self.estimator.rpartition(".")
        at = {"field": "estimator", "found": self.estimator}
        hint = "give the import path of a regressor or classifier, e.g. sklearn.linear_model.Ridge"
        try:
            kind = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InputError("no such estimator", **at, expected=str(error), hint=hint) from None
        try:
            made = kind(**self.arguments)
            if hasattr(made, "_parameter_constraints"):
                made._validate_params()  # noqa: SLF001  nothing public checks parameters before `fit`
        except Exception as error:  # of anybody's code
            problem, said = "the estimator cannot be created", f"{self.estimator}: {_line(str(error))}"
            raise InputError(problem, field="arguments", found=said) from None
        lacks = [each for each in ("fit", "predict", "get_params", "set_params") if not hasattr(made, each)]
        if isinstance(made, type) or lacks:
            problem = "not an estimator with scikit-learn's interface"
            raise InputError(problem, **at, expected=f"methods {', '.join(lacks)}", hint=hint)
        return made


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if hasattr(values, "toarray") else values  # type: ignore[no-any-return]


def _line(text: str) -> str:
    """Shorten a message to a line; a traceback to its last."""
    lines = [each for each in text.splitlines() if each.strip()] or [""]
    return " ".join((lines[-1] if "Traceback" in text else text).split())[:SHOWN]
