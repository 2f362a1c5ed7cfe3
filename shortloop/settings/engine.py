"""Engine settings, in no key; few runs have any, so pydantic is imported only where they are set."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from shortloop.base.errors import InputError
from shortloop.base.extras import called, entry_point, entry_points

ENGINE_VARIABLE = "SHORTLOOP_ENGINE"  # e.g. ``dask``, or with an address: ``dask:tls://host:8786``
ENGINE_TABLE = "engine"  # table of a settings file
ENGINE_GROUP = "shortloop.engines"  # entry points of engines
NAMES = ("slices", "joblib", "dask", "ray")
Backend = Literal["loky", "threading"]
PRICE_VARIABLE = "SHORTLOOP_PRICE"
PRICE = re.compile(r"(\d+(?:\.\d+)?)\s*([^\d\s]{1,10})")
PRICE_EXPECTED = 'a number and a currency, e.g. "2.40 EUR"'
SECONDS = "a number of seconds, 1 at least"
WORKERS = "a number of workers, from 1"
ENGINES_WITH = {
    "address": ("dask", "ray"),
    "backend": ("joblib",),
    "workers": ("joblib", "dask", "ray"),
    **dict.fromkeys(("ca", "certificate", "key"), ("dask",)),
    "options": (),
}
OF_OTHERS = ("address", "workers", "options")  # settings that engines of entry points take


@dataclass(frozen=True)
class EngineSettings:
    """Table ``[engine]`` of a settings file."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str = "slices"  # slices: exax's own forks; or that of an entry point
    # Of a running cluster, e.g. "tls://host:8786" (Dask) or "host:6379" (Ray). Default: one is started here.
    address: str | None = None
    backend: Backend | None = None  # of joblib. Default: as `joblib.parallel_config` says, else loky
    workers: int | None = None  # how many are started on this machine. Default: as many as there are slices
    # Of an engine of an entry point, as its library calls them, e.g. {slurm_partition = "long"}.
    options: dict[str, bool | int | float | str | list[str]] | None = None
    # Files for TLS with Dask, relative to the settings. Default: as Dask is configured.
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    # s without a result after which the engine is asked who does not answer, and what is done then.
    silence: float = 60.0
    when_silent: Literal["end", "wait", "here"] = "end"  # here: the rest is computed on this machine
    price: str | None = None  # of an hour of the machine or cluster, e.g. "2.40 EUR"; see `hourly_price`
    other_kernels: bool = False  # allow workers with other processors, whose last digits may differ

    @classmethod
    def validated(cls, said: Mapping[str, object]) -> EngineSettings:
        from pydantic import TypeAdapter

        return TypeAdapter(cls).validate_python(dict(said))

    def plain(self) -> dict[str, object]:
        """Convert to a table for `validated`."""
        return {name: str(each) if isinstance(each, Path) else each for name, each in asdict(self).items()}


def engine_settings(
    table: Mapping[str, object] | None, file: Path | None = None, environ: Mapping[str, str] = os.environ
) -> EngineSettings:
    """Read which engine a run uses."""
    said, source = dict(table or {}), str(file) if file else None
    if variable := environ.get(ENGINE_VARIABLE, "").strip():
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

    def refused(problem: str, field: str, **facts: Any) -> InputError:
        return InputError(problem, file=source, field=f"{ENGINE_TABLE}.{field}", **facts)

    try:
        found = EngineSettings.validated(said)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ENGINE_TABLE
        if first["type"] == "unexpected_keyword_argument":
            known = ", ".join(each.name for each in fields(EngineSettings))
            raise refused("unknown engine setting", field, expected=f"one of {known}") from None
        expected = {"name": " or ".join(NAMES), "backend": " or ".join(get_args(Backend)), "workers": WORKERS}
        expected |= {"silence": SECONDS, "when_silent": '"end", "wait" or "here"'}
        wanted = expected.get(field, first["msg"])
        raise refused("invalid engine setting", field, found=first["input"], expected=wanted) from None
    _check(found, refused)
    if found.price is not None and _price(found.price) is None:
        raise refused("invalid price of an hour", "price", found=found.price, expected=PRICE_EXPECTED)
    folder = file.parent if file else Path.cwd()
    files = {each: getattr(found, each) for each in ("ca", "certificate", "key")}
    absolute = {name: (folder / path.expanduser()).resolve() for name, path in files.items() if path}
    return replace(found, **absolute)


def hourly_price(
    table: Mapping[str, object] | None, environ: Mapping[str, str] = os.environ
) -> tuple[float, str] | None:
    """Price of an hour, and its currency, as the settings or else the environment say."""
    said = (table or {}).get("price") or environ.get(PRICE_VARIABLE, "")
    if (found := _price(str(said))) is None and said:
        source = f"the variable {PRICE_VARIABLE}" if not (table or {}).get("price") else None
        raise InputError("invalid price of an hour", file=source, found=said, expected=PRICE_EXPECTED)
    return found


def _price(text: str) -> tuple[float, str] | None:
    found = PRICE.fullmatch(text.strip())
    return (float(found[1]), found[2]) if found else None


def _check(settings: EngineSettings, refused: Callable[..., InputError]) -> None:
    """Refuse an invalid value, or one that the engine would ignore."""
    if not settings.silence >= 1:
        raise refused("invalid engine setting", "silence", found=settings.silence, expected=SECONDS)
    if (name := settings.name) not in NAMES and entry_point(ENGINE_GROUP, name) is None:
        known = " or ".join([*NAMES, *sorted({each.name for each in entry_points(ENGINE_GROUP)})])
        hint = f"correct it, or install the package that has {called(ENGINE_GROUP, name)}"
        raise refused("unknown engine", "name", found=name, expected=known, hint=hint)
    if settings.workers is not None and settings.workers < 1:
        raise refused("invalid engine setting", "workers", found=settings.workers, expected=WORKERS)
    for field, names in ENGINES_WITH.items():
        is_theirs = name not in NAMES and field in OF_OTHERS
        if getattr(settings, field) is not None and name not in names and not is_theirs:
            hint = "slices are as many as `slices` in accelerator.conf or SHORTLOOP_SLICES say"
            hint = hint if (name, field) == ("slices", "workers") else "leave it out"
            expected = f"only with {' or '.join(names) or 'an engine of an entry point'}"
            raise refused(f"the engine {name} has no such setting", field, expected=expected, hint=hint)
    if settings.address is not None and settings.workers is not None:
        problem = "`workers` cannot be set for a running cluster"
        raise refused(problem, "workers", hint="remove `workers` or `address`")
