"""The class `Stage`: a job's computation, independent of how its units are distributed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

from shortloop.base.plain import Plain
from shortloop.stages.inputs import File as File
from shortloop.stages.needs import STOP, Hidden, Needs, declared
from shortloop.stages.records import Out as Out
from shortloop.stages.records import Values as Values
from shortloop.stages.records import create_array
from shortloop.stages.results import Result

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, DTypeLike

    from shortloop.stages.tables import Table

Job = Result
STAGE_OF = "shortloop_stage"  # attribute of a function that a stage was made of: the stage
Arrays = Mapping[str, "np.ndarray"]  # arrays by name, as units compute them
Index = int | slice | tuple[int | slice, ...]  # index into an array of NumPy


@dataclass(frozen=True)
class Finished:
    """Results of a stage beside the arrays that its units filled.

    Parameters
    ----------
    facts : mapping
        Names, counts, notes, and any object that can be pickled and read back elsewhere, as fitted models.
        ``notes``, a list of texts, are shown in the terminal when the job was built.
    arrays : mapping of str to Values
        Further arrays by name.
    files : mapping of str to bytes
        Files by path below the job's folder.
    tables : mapping of str to DataFrame
        Frames of pandas or Polars by name; each becomes a Parquet file.
    figures : mapping of str to Figure
        Figures of matplotlib by name; each becomes a PNG and a PDF.
    coordinates : mapping of str to str
        Labels along axes: by the name of the axis, the name of an array of this one axis, as times are, or of
        a fact that is a list, as names are.
    """

    facts: Mapping[str, object] = field(default_factory=dict)
    arrays: Mapping[str, Values] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    coordinates: Mapping[str, str] = field(default_factory=dict)


class Outputs(dict[str, "np.ndarray"]):
    """The arrays that units have filled, by name, as `Stage.finish` is given them.

    Parameters
    ----------
    arrays : mapping of str to array
        By name.
    rows : sequence of bytes
        Results of each unit, of a `CollectingStage`; as of `shortloop.stages.rows.pack`. Empty of a unit that
        failed.
    errors : mapping of int to str
        Error of each unit that failed, by its number, of a stage with ``on_error = "keep"``. Its arrays hold
        missing values there: nan, NaT or an empty text.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        rows: Sequence[bytes] = (),
        errors: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__(arrays)
        self.rows = rows
        self.errors = errors or {}

    def create(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """Make a further array, mapped for writing, that is too large to be in memory twice.

        Fill it, and name it in `Finished`, with None as its values.
        """
        return create_array(name, shape, dtype)


class Stage:
    """One step of an analysis, for one partition of its data.

    A subclass declares its inputs as annotated fields. Fields of type ``Job``, ``Job | None`` and
    ``list[Job]`` are jobs that it is made from; with `shortloop.stages.dataset.Dataset` in place of ``Job``,
    datasets of exax. A list with a default is optional, and empty if it is not given. All others are options,
    with or without a default; their types are checked when a job begins. Types may be imported below
    ``if TYPE_CHECKING:``, so that importing a stage is cheap. An annotation ``ClassVar`` makes no field.

    A job calls `open`, then `units` and `outputs`, then `compute` for each unit, in any order and in any
    process, and then `finish`. All of them have defaults but `compute`, which a stage without units does not
    need. If any but `compute` raises an `InputError`, the job ends with that as its result: the same input
    would give the same error again.

    Examples
    --------
    >>> class Squares(Stage):
    ...     numbers: Job
    ...     def open(self):
    ...         self.values = self.numbers.arrays["values"]
    ...     def units(self):
    ...         return len(self.values)
    ...     def outputs(self):
    ...         return {"squares": Out((len(self.values),), "f8", "numbers", "the square of each")}
    ...     def compute(self, unit):
    ...         return {"squares": self.values[unit] ** 2}
    """

    siblings: ClassVar[tuple[str, ...]] = ()
    """Options that tell jobs of one stage and partition apart, with dots for parts: ``"spec.name"``. A job is
    compared with the one of the last run that had the same values of them."""
    grows: ClassVar[str] = ""
    """Name of an option that is the number of rows of every output, e.g. of permutations. A job with more
    takes over the rows of a job with fewer, see `have`, and its results are as if it had begun anew. Units of
    such a stage give no files, as earlier ones are not taken over."""
    cores: ClassVar[int] = cast("int", Hidden("cores"))
    """How many cores a unit uses; of a stage without units, a job. Like `memory`, `gpus`, `retries` and
    `timeout`, it is part of no key, and code of the stage cannot read it. Default: 1."""
    memory: ClassVar[int | str] = cast("int", Hidden("memory"))
    """Memory that a job uses, in bytes or as ``"30 GB"``; on an engine, a unit. Default: not known."""
    gpus: ClassVar[int] = cast("int", Hidden("gpus"))
    """How many GPUs a unit uses, on engines that know those of their nodes. Default: 0."""
    retries: ClassVar[int] = cast("int", Hidden("retries"))
    """How often a unit that fails is computed again before it counts as failed. Default: 0."""
    timeout: ClassVar[float | str | None] = cast("float", Hidden("timeout"))
    """How long a unit may take, in seconds or as ``"90 s"``, ``"5 min"``, ``"2 h"``. Default: no limit."""
    on_error: ClassVar[str] = STOP
    """``"stop"``: a unit that fails ends the job. ``"keep"``: missing values take the place of its own, its
    error is kept, and the next run computes it again."""
    _seldom: ClassVar[tuple[str, ...]] = ()  # libraries that few jobs need: no job waits for their import
    _needs: ClassVar[Needs] = Needs()  # the six above, of the class and its bases; see `needs_of`

    partition: str | None = None
    """Part of the data; None: all."""
    have: int = 0
    """Number of rows of the outputs that are taken over. The units are those from there on."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls._needs = declared(cls, cls._needs)

    @classmethod
    def modules(cls, options: Mapping[str, Plain]) -> Sequence[str]:  # noqa: ARG003  for stages to override
        """List full names of modules that the stage imports by a name that only an option has.

        A key covers the code's own imports; these would be missing from it otherwise. The options of the job
        are given as plain data.
        """
        return ()

    def open(self) -> None:
        """Prepare what all units share, such as memory maps.

        It is called first, in each process that inherits no opened stage.
        """

    def units(self) -> int | Sequence[float]:
        """List the independent units of work.

        Returns
        -------
        int or sequence of float
            How many there are, or what each costs, in any measure.
        """
        return 0

    def operation_counts(self) -> Mapping[str, float]:
        """Count what all units take together, to be compared with what the machine can do.

        Returns
        -------
        mapping of str to float
            Any of ``"flop"``, ``"flop32"``: floating-point operations in double and single precision; and
            ``"bytes"``: read from and written to memory. Default: none.
        """
        return {}

    def is_small(self) -> bool:
        """Return True if all units together take less time than starting processes for them."""
        return False

    def outputs(self) -> Mapping[str, Out]:
        """Declare the arrays that units fill, by name."""
        return {}

    def index(self, unit: int) -> Index | Mapping[str, Index]:
        """Return the place of the values of a unit, given its number.

        Returns
        -------
        index, or mapping of str to index
            Into all outputs, or, by name, into those that the unit fills. All units together must fill each
            element once. Default: the first axis is the units.
        """
        return unit

    def compute(self, unit: int) -> Mapping[str, ArrayLike | bytes]:
        """Compute a unit, given its number.

        Returns
        -------
        mapping of str to (array-like or bytes)
            By the name of the output, all that `index` names; bytes under another name become a file.
        """
        raise NotImplementedError(f"{type(self).__name__} has units, and no `compute` that does one")

    def unit_name(self, unit: int) -> str:
        """Name a unit, given its number, for messages."""
        return f"unit {unit} of the stage {type(self).__name__}"

    def unit_names(self) -> Sequence[Plain] | None:
        """Name the units, all differently, so that each process may number them in its own order.

        None: every process that opens the stage must find the units in the same order.
        """
        return None

    def finish(self, out: Outputs) -> Finished:
        """Compute further results from those of all units."""
        return Finished()


class CollectingStage(Stage, ABC):
    """A stage whose `finish` is given the results of each `compute` as they are; it fills no outputs.

    A job takes over results of units of an earlier one that have the same `unit_key`.
    """

    unit_fields: ClassVar[tuple[str, ...]]
    """Fields that all units read; the `unit_key` of each covers the others."""

    @classmethod
    def read_by_all(cls) -> tuple[str, ...]:
        """List fields that must be equal for a job to take over units of another, and the partition."""
        return *cls.unit_fields, "partition"

    @abstractmethod
    def unit_key(self, unit: int) -> bytes:
        """Hash all that the values of a unit depend on beside the code and `unit_fields`.

        Use `shortloop.stages.content.content_of`.
        """
