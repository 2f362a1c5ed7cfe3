"""Units that hold a reference in place of data: after an edit of the file, each gives what is in it now."""

from __future__ import annotations

import dataclasses
import functools
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset
import pytest
from in_process import do_job

from shortloop.stages import references
from shortloop.stages.function import stage_of_function
from shortloop.stages.inputs import File
from shortloop.stages.references import References, adding_imports, changed, state_of_process
from shortloop.stages.results import Result, Where
from shortloop.stages.task import Task

FOLDERS: list[Path] = []
SEEN: dict[Path, float] = {}
GRAND: dict[str, float] = {}
NAMES = ("one", "two", "six")


def read(path: Path | str) -> float:
    return float(np.loadtxt(path).mean())


class Recording:
    def __init__(self, path: Path) -> None:
        self.path = path

    def mean(self) -> float:
        return read(self.path)


@dataclasses.dataclass
class Described:
    path: Path
    scale: float = 1.0


class Paths:
    """Where a class keeps what is for all of its objects."""

    folder = Path()


@functools.cache
def first_of_all() -> float:
    return read(FOLDERS[0] / "one.txt")


def each(files: list[File], of: Callable[[File], Any]) -> dict[str, Any]:
    return {name: of(file) for name, file in zip(NAMES, files, strict=True)}


def forget_first(file: File) -> Path:
    first_of_all.cache_clear()
    return file.path


def scan(file: File) -> pl.LazyFrame:
    return pl.scan_csv(file.path, has_header=False, new_columns=["x"])


def arrow_dataset(file: File) -> pyarrow.dataset.Dataset:
    return pyarrow.dataset.dataset(str(file.path.with_suffix(".arrow")), format="ipc")


def keep_grand(files: list[File]) -> dict[str, float]:
    GRAND["mean"] = float(np.mean([read(file.path) for file in files]))
    return dict(zip(NAMES, [1.0, 2.0, 3.0]))


def keep_in_class(files: list[File]) -> dict[str, int]:
    Paths.folder = Path(*files[1].path.parts[:-1], files[1].content)
    return dict(zip(NAMES, [1, 2, 3]))


def query(path: str) -> float:
    with sqlite3.connect(path.removeprefix("sqlite:///").replace(".txt", ".db")) as database:
        return float(database.execute("select x from t").fetchone()[0])


def table_of(files: list[File], column: Callable[[File], Any]) -> pd.DataFrame:
    return pd.DataFrame({"who": NAMES, "file": [column(file) for file in files]})


Give: TypeAlias = Callable[[list[File]], Any]
Use: TypeAlias = Callable[[Any], float]
OF_EACH: dict[str, tuple[Callable[[File], Any], Use]] = {
    "path": (lambda file: file.path, read),
    "text": (lambda file: str(file.path), read),
    "file": (lambda file: file, lambda file: read(file.path)),
    "name": (lambda file: file.path.name, lambda name: read(FOLDERS[0] / name)),
    "name without ending": (lambda file: file.path.stem, lambda stem: read(FOLDERS[0] / f"{stem}.txt")),
    "path in a list": (lambda file: [1, {"at": file.path}], lambda it: read(it[1]["at"])),
    "record with a path": (lambda file: Described(file.path), lambda it: read(it.path)),
    "path by another way": (
        lambda file: file.path.parent / ".." / file.path.parent.name / file.path.name,
        read,
    ),
}
OF_ALL: dict[str, tuple[Give, Use]] = {
    "partial": (lambda files: each(files, lambda f: functools.partial(read, f.path)), lambda get: get()),
    "closure": (lambda files: each(files, lambda f: lambda: read(f.path)), lambda get: get()),
    "own object": (lambda files: each(files, lambda f: Recording(f.path)), lambda it: it.mean()),
    "text with a path": (lambda files: each(files, lambda f: f"sqlite:///{f.path}"), query),
    "lazy frame": (lambda files: each(files, scan), lambda rows: rows.collect()["x"].mean()),
    "dataset": (lambda files: each(files, arrow_dataset), lambda rows: rows.to_table()["x"][0].as_py()),
    "global": (keep_grand, lambda x: x - GRAND["mean"]),
    "class": (keep_in_class, lambda x: float(Paths.folder.name.removeprefix("content")) + x),
    "cache": (lambda files: each(files, forget_first), lambda path: first_of_all() + 0 * len(str(path))),
}
PLAIN: dict[str, tuple[Give, Use]] = {
    "array": (lambda files: each(files, lambda f: np.loadtxt(f.path)), lambda x: x.mean()),
    "map of a file": (lambda files: each(files, lambda f: np.loadtxt(f.path)[:]), lambda x: x.mean()),
    "rows": (
        lambda files: each(files, lambda f: pd.DataFrame({"x": np.loadtxt(f.path), "s": "a/b"})),
        lambda rows: rows["x"].mean(),
    ),
    "polars": (
        lambda files: each(files, lambda f: pl.DataFrame({"x": np.loadtxt(f.path), "s": "one way"})),
        lambda rows: rows["x"].mean(),
    ),
    "words": (
        lambda files: each(files, lambda f: {"one": read(f.path), "of": "data", "date": "1/2/2020"}),
        lambda it: it["one"],
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # Modules of other tests in this process are none of the stage's.
    monkeypatch.setattr(references, "_users_modules", lambda: [(__name__, sys.modules[__name__])])
    FOLDERS[:] = [tmp_path / "data"]
    FOLDERS[0].mkdir()
    yield FOLDERS[0]
    references.refer_to(References())
    FOLDERS.clear()


def write(folder: Path, values: list[float]) -> dict[str, Path]:
    """Files, by their content."""
    found = {}
    for name, value in zip(NAMES, values, strict=True):
        file = folder / f"{name}.txt"
        file.write_text(f"{value}\n{value}\n")
        (folder / f"{name}.db").unlink(missing_ok=True)
        with sqlite3.connect(folder / f"{name}.db") as database:
            database.execute(f"create table t as select {value} as x")
        pl.DataFrame({"x": [value]}).write_ipc(folder / f"{name}.arrow")
        found[f"content{value:g}"] = file
    return found


def run(give: Give, use: Use, files: dict[str, Path], folder: Path, before: Result | None = None) -> Result:
    def units(files: list[File]) -> Any:
        return give(files)

    def measure(it: Any) -> dict[str, float]:
        return {"x": use(it)}

    globals()["made"] = stage_of_function(measure, units)
    task = Task("measure", __name__, "made", None, {"files": [*files]}, {}, where=Where(files))
    return do_job(task, folder, earlier=[] if before is None else [before.path])


def runs(give: Give, use: Use, folder: Path) -> tuple[list[float], list[float], int]:
    """What units give after the second file was edited, what they give anew, and how many were reused."""
    first = run(give, use, write(folder, [1, 2, 3]), folder.parent / "main-1")
    files = write(folder, [1, 700, 3])
    again = run(give, use, files, folder.parent / "main-2", first)
    anew = run(give, use, files, folder.parent / "main-3")
    return again["x"].tolist(), anew["x"].tolist(), sum(again.record.get("taken", {}).values())


@pytest.mark.parametrize("kind", [*OF_EACH, *PLAIN])
def test_units_that_name_a_file_or_hold_plain_data_are_computed_again_alone(kind: str, folder: Path) -> None:
    if kind in PLAIN:
        give, use = PLAIN[kind]
    else:
        of, use = OF_EACH[kind]
        give = functools.partial(each, of=of)
    found, anew, taken = runs(give, use, folder)
    assert found == anew == [1, 700, 3]
    assert taken == 2


@pytest.mark.parametrize("kind", OF_ALL)
def test_units_that_hold_other_references_are_all_computed_again(kind: str, folder: Path) -> None:
    give, use = OF_ALL[kind]
    found, anew, _ = runs(give, use, folder)
    assert found == anew
    assert kind == "cache" or found[1] != run(give, use, write(folder, [1, 2, 3]), folder / "main-4")["x"][1]


@pytest.mark.parametrize("column", ["path", "name", "word"])
def test_rows_of_a_table_that_name_files(column: str, folder: Path) -> None:
    of = {"path": lambda f: str(f.path), "name": lambda f: f.path.name, "word": lambda f: f.path.stem}[column]

    def use(rows: pd.DataFrame) -> float:
        return read((FOLDERS[0] / rows["file"].iloc[0]).with_suffix(".txt"))

    for give in (
        lambda files: dict(iter(table_of(files, of).groupby("who"))),
        lambda files: {row["who"]: row.to_frame().T for _, row in table_of(files, of).iterrows()},
        lambda files: dict(iter(table_of(files, of).astype({"file": "category"}).groupby("who"))),
    ):  # fmt: skip
        for old in folder.parent.glob("main-*"):
            old.rename(old.with_name(f"old-{old.stat().st_ino}"))
        found, anew, taken = runs(give, use, folder)
        assert sorted(found) == sorted(anew) == [1, 3, 700]
        assert taken == 2


@pytest.mark.parametrize("how", ["open", "program"])
def test_a_unit_that_opens_a_file_by_a_path_of_its_own(how: str, folder: Path) -> None:
    def use(number: int) -> float:
        file = FOLDERS[0] / NAMES[number]
        if how == "open":
            return read(f"{file}.txt")
        return float(subprocess.run(["head", "-n1", f"{file}.txt"], capture_output=True, check=True).stdout)

    found, anew, _ = runs(lambda files: {name: n for n, name in enumerate(NAMES)}, use, folder)
    assert found == anew == [1, 700, 3]


def test_what_one_unit_read_and_left_for_others(folder: Path) -> None:
    """The second file is the template of all; whichever unit comes first reads it."""

    def use(path: Path) -> float:
        if "template" not in SEEN:
            SEEN["template"] = read(FOLDERS[0] / "two.txt")  # type: ignore[index]
        return read(path) + SEEN["template"]  # type: ignore[index]

    def give(files: list[File]) -> dict[str, Path]:
        SEEN.clear()
        return each(files, lambda file: file.path)

    found, anew, _ = runs(give, use, folder)
    assert found == anew == [701, 1400, 703]


def test_a_folder_counts_with_its_files(folder: Path) -> None:
    def write_in_folders(value: float) -> dict[str, Path]:
        files = {}
        for name, each in zip(NAMES, [1, value, 3], strict=True):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "rows.txt").write_text(f"{each}\n")
            files[f"content{each}"] = folder / name / "rows.txt"
        return files

    for kind, of in {"path": lambda f: f.path.parent, "text": lambda f: str(f.path.parent)}.items():

        def give(files: list[File], of: Any = of) -> dict[str, Any]:
            return each(files, of)

        def use(path: Path | str) -> float:
            return read(Path(path) / "rows.txt")

        first = run(give, use, write_in_folders(2), folder / f"{kind}-1")
        again = run(give, use, write_in_folders(700), folder / f"{kind}-2", first)
        assert again["x"].tolist() == [1, 700, 3]
        assert [*again.record["taken"].values()] == [2]


MODULE = """
from contextvars import ContextVar


class Lazy:
    \"\"\"Its first pickle leaves something in it, as those of exceptions do with some libraries.\"\"\"

    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        self.is_pickled = True
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)


class Growing(Lazy):
    def __getstate__(self):
        state = dict(self.__dict__)
        self.more = None
        return state


plain = [1, 2]
lazy = Lazy(1)
growing = Growing(1)
holder = Lazy(lambda: 1)
nested = [{"f": lambda: 1, "of": [holder]}]
context = ContextVar("context")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "some_state.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import some_state  # type: ignore[import-not-found]

    yield some_state
    del sys.modules["some_state"]


def after(call: Callable[[], object]) -> list[str]:
    before = state_of_process()
    call()
    return changed(before, state_of_process())


def test_changes_are_named_and_a_first_pickle_is_none(module: Any) -> None:
    assert after(lambda: None) == []
    assert after(lambda: module.plain.append(3)) == ["some_state.plain"]
    assert after(lambda: setattr(module.lazy, "value", 2)) == ["some_state.lazy"]
    assert after(lambda: setattr(module.growing, "value", 2)) == ["some_state.growing"]
    assert after(lambda: setattr(module, "new", 1)) == ["some_state.new"]
    assert after(lambda: setattr(module.holder, "more", 1)) == ["some_state.holder", "some_state.nested"]
    assert after(lambda: module.nested[0].update(n=1)) == ["some_state.nested"]
    assert after(lambda: module.context.set(1)) == ["some_state.context"]


def test_changes_of_modules_that_are_imported_meanwhile(tmp_path: Path, module: Any) -> None:
    """Modules that add to each other while they are imported have not changed, as after the next import."""
    (tmp_path / "other_state.py").write_text("found = []\nimport adding_state\n", encoding="utf-8")
    text = "import other_state\nother_state.found.append(1)\n"
    (tmp_path / "adding_state.py").write_text(text, encoding="utf-8")
    before = state_of_process()
    with adding_imports(before):
        import other_state  # type: ignore[import-not-found]

        assert changed(before, state_of_process()) == []
        other_state.found.append(2)
        other_state.new = module.plain
    assert changed(before, state_of_process()) == ["other_state.found", "other_state.new"]
    for name in ("other_state", "adding_state"):
        del sys.modules[name]
