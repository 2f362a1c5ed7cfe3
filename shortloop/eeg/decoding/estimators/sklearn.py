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
        return make_sklearn(self)

    def called(self) -> str:
        return self.path

    def _is_of_sklearn(self) -> bool:
        return self.path.startswith("sklearn.")


def make_sklearn(settings: SklearnSettings) -> Any:
    """An unfitted scikit-learn estimator."""
    made = _make(settings.path)
    known = _parameters(made, settings.path)
    unknown = sorted(set(settings.params) - set(known))
    if unknown:
        raise InputError(
            "the estimator has no such parameter",
            field=f"estimator.params.{unknown[0]}",
            found=unknown[0],
            expected=", ".join(sorted(made.get_params(deep=False))) or "none",
            hint="correct the name, or remove it",
        )
    try:
        made.set_params(**settings.params)
        if hasattr(made, "_parameter_constraints"):  # which a class of one's own need not have
            made._validate_params()  # noqa: SLF001  nothing public checks parameters before `fit`
    except ValueError as error:
        raise InputError(
            "the estimator does not take this value",
            field="estimator.params",
            found=str(error),
            hint="correct the value, or remove it for the estimator's default",
        ) from None
    except Exception as error:
        raise _fails("the estimator does not take its parameters", settings.path, error) from error
    return made


def _make(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            raise _wrong_path("the estimator cannot be created", f"{path} ({error})") from None
        raise _fails("the module of the estimator cannot be imported", path, error) from error
    except (Exception, SystemExit) as error:
        raise _fails("the module of the estimator cannot be imported", path, error) from error
    if found is None:
        raise _wrong_path("the estimator cannot be created", f"{path} ({module} has no {name})")
    try:
        return found()
    except TypeError as error:
        raise _wrong_path("the estimator cannot be created", f"{path} ({error})") from None
    except Exception as error:
        raise _fails("the estimator cannot be created", path, error) from error


def _parameters(made: Any, path: str) -> dict[str, Any]:
    """Parameters of a classifier, and of its parts."""
    from sklearn.base import is_classifier

    try:
        if hasattr(made, "get_params") and is_classifier(made):
            return dict(made.get_params(deep=True))
    except Exception as error:
        raise _fails("the estimator cannot be inspected", path, error) from error
    raise _wrong_path("the estimator is not a classifier", path)


def _fails(problem: str, path: str, error: BaseException) -> Exception:
    if isinstance(error, OSError | MemoryError):  # of the machine
        return error
    return TransientError(
        problem,
        field="estimator.path",
        file=place_of(error),
        found=f"{path} ({type(error).__name__}: {error})",
        hint="correct it and run again",
    )


def _wrong_path(problem: str, found: str) -> InputError:
    return InputError(
        problem,
        field="estimator.path",
        found=found,
        expected="the import path of a scikit-learn classifier",
        hint="for example sklearn.naive_bayes.GaussianNB",
    )
