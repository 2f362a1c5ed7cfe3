"""Engine settings, which are in no key because results do not depend on them.

Every run asks, and most say nothing of it: pydantic is imported where something is said.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from shortloop.base.entry_points import called, entry_point, entry_points
from shortloop.base.errors import InputError

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["ENGINE_GROUP", "ENGINE_TABLE", "ENGINE_VARIABLE", "EngineSettings", "engine_settings"]

ENGINE_VARIABLE = "SHORTLOOP_ENGINE"
"""Variable that says which engine: ``dask``, or with where it is: ``dask:tls://host:8786``."""
ENGINE_TABLE = "engine"  # Table of a settings file that says the same, and more
ENGINE_GROUP = "shortloop.engines"  # Group of entry points that add engines
NAMES = ("slices", "joblib", "dask", "ray")
Backend = Literal["loky", "threading"]
WORKERS = "a number of workers, from 1"


@dataclass(frozen=True)
class EngineSettings:
    """Table ``[engine]`` of a settings file.

    address: of a cluster that runs already: of Dask's scheduler, e.g. ``"tls://host:8786"``, or of Ray's
        head, e.g. ``"host:6379"``. Default: one is started on this machine, for the run.
    ca, certificate, key: files for TLS, with Dask: of who vouches for the scheduler, and of this client.
        Relative to the file of the settings. Default: as Dask is configured.
    other_kernels: whether workers may have other kinds of processors than this machine: results are then
        the same but for their last digits.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str = "slices"  # slices: exax's own forks; or that of an entry point
    address: str | None = None
    backend: Backend | None = None  # of joblib. Default: as `joblib.parallel_config` says, else loky
    workers: int | None = None  # how many are started on this machine. Default: as many as there are slices
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    other_kernels: bool = False

    @classmethod
    def validated(cls, said: Mapping[str, object]) -> EngineSettings:
        """What a table says."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).validate_python(dict(said))

    def plain(self) -> dict[str, object]:
        """The same as a table, of which `validated` makes it again."""
        return {name: str(each) if isinstance(each, Path) else each for name, each in asdict(self).items()}


def engine_settings(
    table: Mapping[str, object] | None,
    file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> EngineSettings:
    """Which engine a run uses."""
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
    if found.name not in NAMES and entry_point(ENGINE_GROUP, found.name) is None:
        raise _unknown(found.name, source)
    _check(found, source)
    folder = file.parent if file else Path.cwd()
    files = {each: getattr(found, each) for each in ("ca", "certificate", "key")}
    absolute = {name: (folder / path.expanduser()).resolve() for name, path in files.items() if path}
    return replace(found, **absolute)


def _unknown(name: str, source: str | None) -> InputError:
    return InputError(
        "settings of the engine cannot be used",
        file=source,
        field=f"{ENGINE_TABLE}.name",
        found=name,
        expected=" or ".join([*NAMES, *sorted({each.name for each in entry_points(ENGINE_GROUP)})]),
        hint=f"correct it, or install the package that has {called(ENGINE_GROUP, name)}",
    )


def _wrong(error: ValidationError, source: str | None) -> InputError:
    first = error.errors()[0]
    field = str(first["loc"][0]) if first["loc"] else ENGINE_TABLE
    expected = {
        "name": " or ".join(NAMES),
        "backend": " or ".join(get_args(Backend)),
        "workers": WORKERS,
    }
    if first["type"] == "unexpected_keyword_argument":
        return InputError(
            "unknown engine setting",
            file=source,
            field=f"{ENGINE_TABLE}.{field}",
            expected="one of " + ", ".join(each.name for each in fields(EngineSettings)),
        )
    return InputError(
        "invalid engine setting",
        file=source,
        field=f"{ENGINE_TABLE}.{field}",
        found=first["input"],
        expected=expected.get(field, first["msg"]),
    )


def _check(settings: EngineSettings, source: str | None) -> None:
    """Refuse what cannot be, and what an engine would not look at."""
    if settings.workers is not None and settings.workers < 1:
        raise InputError(
            "invalid engine setting",
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
        is_theirs = settings.name not in NAMES and field in ("address", "workers")
        if getattr(settings, field) is not None and settings.name not in names and not is_theirs:
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
            "`workers` cannot be set for a running cluster",
            file=source,
            field=f"{ENGINE_TABLE}.workers",
            hint="remove `workers` or `address`",
        )
