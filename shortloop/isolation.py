"""A stage alone in this process, on the inputs of a kept job: for a debugger, a notebook or a script."""

from __future__ import annotations

import importlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import chdir
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.seeds import seed_for
from shortloop.base.text import short_list
from shortloop.exax.datasets import know_workdirs, open_dataset
from shortloop.exax.notebook_methods import find_method_of
from shortloop.keys.methods import STAGE
from shortloop.project.project import import_from_project, job_directory
from shortloop.stages.output import compute_row, keep_unit, lay_out
from shortloop.stages.records import OBJECT, OF_FRAME, RECORD
from shortloop.stages.results import Setup, open_result
from shortloop.stages.rows import BEGIN
from shortloop.stages.stage import CollectingStage, Outputs, Stage
from shortloop.stages.tables import ENDING, load
from shortloop.stages.task import BEFORE, Folders, Task, costs_of, fields_of, open_stage
from shortloop.stages.threads import set_single_thread
from shortloop.store.loaded import here
from shortloop.store.setup import setup_of, whole_input

NAMED = 8  # units in a message


def isolate(job: str, dummy: bool = False) -> IsolatedStage:
    """Open the stage of a job alone in this process, on the inputs of that job.

    The code is as it is now; no server is needed, and nothing is kept.

    Parameters
    ----------
    job : str
        Job id, e.g. ``"main-12"``; of a job that failed, too.
    dummy : bool, default False
        True for random inputs of the same shapes and types, made from the records of the inputs.

    Returns
    -------
    IsolatedStage
        With `IsolatedStage.inputs`, `IsolatedStage.units` and `IsolatedStage.compute`.

    Raises
    ------
    InputError
        If there is no such job, it is of no stage, or an input was deleted.
    """
    set_single_thread()
    setup = setup_of(folder := job_directory(job))
    import_from_project()
    find_method_of(setup, folder)
    stage = getattr(importlib.import_module(f"{setup['package']}.a_{setup['method']}"), STAGE, None)
    if stage is None:
        hint = "run a method of exax alone with `ax run`; it has no units"
        raise InputError("the job is of no stage", found=f"{job} of {setup['method']}", hint=hint)
    return IsolatedStage(job, stage, setup, dummy)


class IsolatedStage:
    """A stage alone in this process, as `isolate` opens it."""

    def __init__(self, job: str, kind: type[Stage], setup: Setup, dummy: bool) -> None:
        know_workdirs(here().workdirs)
        self.job = job
        self._scratch = tempfile.TemporaryDirectory(prefix="shortloop-isolated-")
        jobs = {name: self._folders(each, dummy) for name, each in setup["jobs"].items()}
        self._task = Task(
            setup["method"],
            kind.__module__,
            kind.__name__,
            cast("str | None", setup["options"].get("partition")),
            {name: each for name, each in setup["options"].items() if name not in OF_FRAME},
            {name: each for name, each in jobs.items() if name != BEFORE},
            cast("str | None", jobs.get(BEFORE)),
            here(),
            datasets=setup.get("datasets", {}),
            open_dataset=open_dataset,
        )

    @cached_property
    def stage(self) -> Stage:
        """The stage, with its fields set and opened."""
        return open_stage(self._task)

    @property
    def inputs(self) -> dict[str, object]:
        """Jobs, datasets and options that the stage is given, by the names of its fields."""
        of = fields_of(type(self.stage))
        return {name: getattr(self.stage, name) for name in {**of.jobs, **of.datasets, **of.options}}

    @cached_property
    def units(self) -> list[object]:
        """Names of the units, or their numbers if they have none; empty of a stage without units."""
        number = len(costs_of(self.stage))
        return [*(self.stage.unit_names() or range(number))]

    def compute(self, unit: object = None) -> dict[str, object]:
        """Compute a unit in this process, where a debugger can follow.

        Parameters
        ----------
        unit : object, optional
            Its name, as `units` has it. Default: all units, and what the stage makes of them at its end.

        Returns
        -------
        dict of str to object
            What the unit, or the stage, gives by name.

        Raises
        ------
        InputError
            If no unit has this name.
        """
        if unit is None:
            return self._whole()
        names = [*map(repr, self.units)]  # which tells 1 and "1" apart
        if repr(unit) not in names:
            expected = short_list(names, NAMED) or "none: leave it out"
            raise InputError("no such unit", found=repr(unit), expected=expected)
        with chdir(self._scratch.name):
            return dict(self.stage.compute(names.index(repr(unit))))

    def _whole(self) -> dict[str, Any]:
        stage, units = self.stage, range(len(self.units))
        with chdir(self._scratch.name):
            arrays = lay_out(stage, self._task, lambda name, shape, dtype: np.zeros(shape, dtype))
            rows: list[bytes] = []
            given: dict[str, Any] = {}
            for unit in units:
                if isinstance(stage, CollectingStage):
                    rows.append(compute_row(stage, unit)[BEGIN:])
                else:
                    keep_unit(stage, unit, stage.compute(unit), arrays, given.__setitem__)
            finished = stage.finish(Outputs(arrays, rows))
        values = {name: each.values for name, each in finished.arrays.items()}
        others = {**finished.facts, **finished.tables, **finished.figures, **finished.files}
        return {**given, **arrays, **values, **others}

    def _folders(self, given: object, dummy: bool) -> Folders:
        if isinstance(given, list):
            return [cast("str", self._folders(each, dummy)) for each in given]
        if given is None:
            return None
        folder = whole_input(str(given))
        if not dummy:
            return str(folder)
        made = Path(self._scratch.name, "inputs", str(given))
        if not made.exists():
            made.mkdir(parents=True)
            _write_dummy(folder, made)
        return str(made)


def _write_dummy(folder: Path, made: Path) -> None:
    """Write a job with random arrays and tables, made from the record of another, and its facts and files."""
    result = open_result(folder)
    record: Any = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    rng = np.random.default_rng(seed_for(0, folder.name))
    shutil.copy(folder / "setup.json", made)
    for name, described in record["arrays"].items():
        described.pop("outside", None)
        np.save(made / f"{name}.npy", _random(rng, described["dtype"], described["shape"]))
    for name, described in record.get("tables", {}).items():
        described.pop("restored", None)
        frame = load(described["library"]).DataFrame(
            {column: _random(rng, kind, [described["rows"]]) for column, kind in described["columns"].items()}
        )
        (frame.to_parquet if hasattr(frame, "to_parquet") else frame.write_parquet)(made / f"{name}{ENDING}")
    for name in [*(f"{each}{OBJECT}" for each in record.get("objects", {})), *result.files]:
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / name, made / name)
    (made / RECORD).write_text(json.dumps(record), encoding="utf-8")


def _random(rng: np.random.Generator, kind: str, shape: Sequence[int]) -> np.ndarray:
    """Random values of a type of NumPy, or of one that a library of tables names after it."""
    said = kind.lower()
    try:
        dtype = np.dtype(kind if kind != "str" else "U1")
    except TypeError:  # of a library of tables
        names = {"int": "i8", "uint": "u8", "float": "f8", "bool": "?", "date": "M8[us]", "dura": "m8[us]"}
        dtype = np.dtype(next((each for name, each in names.items() if said.startswith(name)), "U1"))
    if dtype.kind in "fc":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind in "USO":
        return rng.choice([*"abcd"], shape).astype("U1" if dtype.kind == "O" else dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 10, shape).astype(dtype)
