"""Any scikit-learn classifier, by import path."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError, TransientError, place_of
from shortloop.base.text import listed
from shortloop.eeg.decoding.estimators.protocol import ClassifierSettings


class SklearnSettings(ClassifierSettings):
    """Any scikit-learn classifier, by import path."""

    kind: Literal["sklearn"] = Field("sklearn", description="a scikit-learn estimator")
    path: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="import path, e.g. 'sklearn.linear_model.LogisticRegression'; no default",
    )
    params: dict[str, bool | int | float | str | None] = Field(
        default_factory=dict, description="its parameters; default: its own defaults"
    )

    def modules(self, *, batched: bool = False) -> list[str]:
        return [*super().modules(batched=batched), self.path.rpartition(".")[0]]

    @property
    def libraries(self) -> Mapping[str, str]:
        return {"sklearn": "scikit-learn"} if self._is_of_sklearn() else {}

    def described(self, n_classes: int) -> str:
        given = listed([f"{name} = {value}" for name, value in self.params.items()])
        rest = f"{given}, all else as by default" if given else "default parameters"
        library = " of scikit-learn (Pedregosa et al., 2011)" if self._is_of_sklearn() else ""
        return f"{self.path}{library}, with {rest}"

    def make(self) -> Any:
        try:
            made = self._created()
            self._set_parameters(made)
        except (InputError, OSError, MemoryError):
            raise
        except (Exception, SystemExit) as error:  # of a user's own code
            raise TransientError(
                "the estimator cannot be created",
                field="estimator.path",
                file=place_of(error),
                found=f"{self.path} ({type(error).__name__}: {error})",
                hint="correct it and run again",
            ) from error
        return made

    def _created(self) -> Any:
        from sklearn.base import is_classifier

        module, _, name = self.path.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name, None)
        except ModuleNotFoundError as error:
            if f"{module}.".startswith(f"{error.name}."):
                raise self._wrong_path(str(error)) from None
            raise
        if found is None:
            raise self._wrong_path(f"{module} has no {name}")
        try:
            made = found()
        except TypeError as error:
            raise self._wrong_path(str(error)) from None
        if not (hasattr(made, "get_params") and is_classifier(made)):
            raise self._wrong_path("it is none")
        return made

    def _wrong_path(self, why: str) -> InputError:
        problem = "the estimator is not a classifier that can be created"
        found = f"{self.path} ({why})"
        expected = "the import path of a scikit-learn classifier"
        hint = "for example sklearn.naive_bayes.GaussianNB"
        return InputError(problem, field="estimator.path", found=found, expected=expected, hint=hint)

    def _set_parameters(self, made: Any) -> None:
        known = made.get_params(deep=True)  # and those of its parts
        if unknown := sorted(set(self.params) - set(known)):
            wrong = "the estimator has no such parameter"
            field = f"estimator.params.{unknown[0]}"
            expected = ", ".join(sorted(made.get_params(deep=False))) or "none"
            advice = "correct the name, or remove it"
            raise InputError(wrong, field=field, found=unknown[0], expected=expected, hint=advice)
        try:
            made.set_params(**self.params)
            if hasattr(made, "_parameter_constraints"):  # which a class of one's own need not have
                made._validate_params()  # noqa: SLF001  nothing public checks parameters before `fit`
        except ValueError as error:
            problem = "the estimator does not take this value"
            hint = "correct the value, or remove it for the estimator's default"
            raise InputError(problem, field="estimator.params", found=str(error), hint=hint) from None

    def called(self) -> str:
        return self.path

    def _is_of_sklearn(self) -> bool:
        return self.path.startswith("sklearn.")
