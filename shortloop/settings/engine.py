"""Who computes the units of jobs, as settings say it; in no key, as results do not depend on it.

Every run asks, and most say nothing of it: pydantic is imported where something is said.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from shortloop.errors import InputError

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["ENGINE_TABLE", "ENGINE_VARIABLE", "EngineSettings", "engine_settings"]

ENGINE_VARIABLE = "SHORTLOOP_ENGINE"
"""Variable that says which engine: ``dask``, or with where it is: ``dask:tls://host:8786``."""
ENGINE_TABLE = "engine"
"""Table of a settings file that says the same, and more."""
Name = Literal["slices", "joblib", "dask", "ray"]
Backend = Literal["loky", "threading"]
WORKERS = "a number of workers, from 1"


@dataclass(frozen=True)
class EngineSettings:
    """Table ``[engine]`` of a settings file.

    Parameters
    ----------
    name : {"slices", "joblib", "dask", "ray"}, default "slices"
        slices: exax's own forks.
    address : str, optional
        Of a cluster that runs already: of Dask's scheduler, e.g. ``"tls://host:8786"``, or of Ray's head,
        e.g. ``"host:6379"``. Default: one is started on this machine, for the run.
    backend : {"loky", "threading"}, optional
        Of joblib. Default: as `joblib.parallel_config` says, else loky.
    workers : int, optional
        How many are started on this machine. Default: as many as there are slices.
    ca, certificate, key : Path, optional
        Files for TLS, with Dask: of who vouches for the scheduler, and of this client. Relative to the file
        of the settings. Default: as Dask is configured.
    other_kernels : bool, default False
        Whether workers may have other kinds of processors than this machine: results are then the same but
        for their last digits.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: Name = "slices"
    address: str | None = None
    backend: Backend | None = None
    workers: int | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    other_kernels: bool = False

    @classmethod
    def validated(cls, said: Mapping[str, object]) -> EngineSettings:
        """What a table says.

        Parameters
        ----------
        said : mapping
            Fields by name, plain data.

        Returns
        -------
        EngineSettings

        Raises
        ------
        pydantic.ValidationError
            If there is no such field, or a value is of another type.
        """
        from pydantic import TypeAdapter

        return TypeAdapter(cls).validate_python(dict(said))

    def plain(self) -> dict[str, object]:
        """The same as a table, of which `validated` makes it again.

        Returns
        -------
        dict
        """
        return {name: str(each) if isinstance(each, Path) else each for name, each in asdict(self).items()}


def engine_settings(
    table: Mapping[str, object] | None,
    file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> EngineSettings:
    """Which engine a run uses.

    Parameters
    ----------
    table : mapping or None
        Table ``[engine]`` of the run's settings file, if it has one.
    file : Path, optional
        That file.
    environ : mapping of str to str
        Environment variables; the variable counts more than the file.

    Returns
    -------
    EngineSettings

    Raises
    ------
    InputError
        If there is no such engine, or what is said does not go together.
    """
    said, source = dict(table or {}), str(file) if file else None
    variable = environ.get(ENGINE_VARIABLE, "").strip()
    if variable:
        name, _, where = variable.partition(":")
        if name != said.get("name"):
            said = {}  # the rest of the table is for another engine
        said["name"] = name
        if where:
            said["backend" if name == "joblib" else "address"] = where
        source = f"the variable {ENGINE_VARIABLE}"
    if not said:
        return EngineSettings()
    from pydantic import ValidationError

    try:
        found = EngineSettings.validated(said)
    except ValidationError as error:
        raise _wrong(error, source) from None
    _check(found, source)
    folder = file.parent if file else Path.cwd()
    files = {each: getattr(found, each) for each in ("ca", "certificate", "key")}
    absolute = {name: (folder / path.expanduser()).resolve() for name, path in files.items() if path}
    return replace(found, **absolute)


def _wrong(error: ValidationError, source: str | None) -> InputError:
    first = error.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else ENGINE_TABLE
    expected = {
        "name": " or ".join(get_args(Name)),
        "backend": " or ".join(get_args(Backend)),
        "workers": WORKERS,
    }
    if first["type"] == "unexpected_keyword_argument":
        return InputError(
            "settings of the engine have a field that is not known",
            file=source,
            field=f"{ENGINE_TABLE}.{field}",
            expected="one of " + ", ".join(each.name for each in fields(EngineSettings)),
        )
    return InputError(
        "settings of the engine cannot be used",
        file=source,
        field=f"{ENGINE_TABLE}.{field}",
        found=first["input"],
        expected=expected.get(field, first["msg"]),
    )


def _check(settings: EngineSettings, source: str | None) -> None:
    """Refuse what cannot be, and what an engine would not look at."""
    if settings.workers is not None and settings.workers < 1:
        raise InputError(
            "settings of the engine cannot be used",
            file=source,
            field=f"{ENGINE_TABLE}.workers",
            found=settings.workers,
            expected=WORKERS,
        )
    meant = {
        "address": ("dask", "ray"),
        "backend": ("joblib",),
        "workers": ("joblib", "dask", "ray"),
        "ca": ("dask",),
        "certificate": ("dask",),
        "key": ("dask",),
    }
    for field, names in meant.items():
        if getattr(settings, field) is not None and settings.name not in names:
            hint = "slices are as many as `slices` in accelerator.conf or SHORTLOOP_SLICES say"
            raise InputError(
                f"the engine {settings.name} has no such setting",
                file=source,
                field=f"{ENGINE_TABLE}.{field}",
                expected=f"only with {' or '.join(names)}",
                hint=hint if settings.name == "slices" and field == "workers" else "leave it out",
            )
    if settings.address is not None and settings.workers is not None:
        raise InputError(
            "a cluster that runs already has the workers that it has",
            file=source,
            field=f"{ENGINE_TABLE}.workers",
            hint="leave out `workers`, or `address`",
        )
