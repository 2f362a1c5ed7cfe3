"""Projects that `shortloop init` writes, with the package installed from a wheel, run, are edited and run
again."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from command_line import assert_one_message, forked
from installed import Environment, above, built, environment, sources, wheel
from live_project import ROOT, script, stages
from test_live_commands import STUDY

import shortloop

__all__ = ["above", "environment", "wheel"]  # fixtures
MOST_LINES = 60
SMALL_PANEL = """\
name = "small"
groups = {by = ["g"], blocks = 1}
models.plain = {model = "ols", formula = "y ~ x"}

[input]
format = "csvimport"
file = "rows.csv"
numbers = ["x", "y"]
texts = ["g"]
"""
ROWS = "g,x,y\n" + "".join(f"{'ab'[n % 2]},{n % 7},{n % 5}\n" for n in range(40))
BARE = stages("""\
# numbers
@stage
def numbers(count: int):
    import numpy as np

    return {"numbers": np.arange(count)}

# squares
def each(numbers: Job):
    return {f"n{number}": number for number in numbers["numbers"].tolist()}


@stage(units=each)
def squares(number):
    return {"square": number**2}
""")
BARE["build_scripts/build_bare.py"] = script(
    'return run.build("squares", numbers=run.build("numbers", count=9))'
)
FIT = """
import pandas as pd
from shortloop.panel.frame import fit_frame
frame = pd.DataFrame({"firm": [*"aaaabbbb"], "y": [1, 2, 3, 5, 1, 3, 5, 6], "x": [1, 2, 3, 4, 1, 2, 3, 4]})
print(fit_frame(frame, ["firm"], model="ols", formula="y ~ x"))
"""
FITTED = "<2 of 2 groups fitted: Intercept, x; tables: coefficients(), fits()>\n"


@pytest.mark.slow
def test_functions_need_no_project(above: Path, environment: Environment) -> None:
    (above / "none").mkdir()
    assert environment.works(above / "none", "python", "-c", FIT) == FITTED
    said = environment.works(above / "none", "shortloop", "--version")
    assert said == f"shortloop {shortloop.__version__}\n"
    assert not [*(above / "none").iterdir()]


def built_by(said: str) -> list[str]:
    """Stage and partition of each job that a run has built."""
    return [" ".join(found) for found in re.findall(r"\] built (\w+) +(\w*) +main-\d+", said)]


@pytest.mark.slow
def test_an_analysis_runs_at_once_and_again_where_it_is_edited(above: Path, environment: Environment) -> None:
    said = environment.works(above, "shortloop", "init", "my-analysis")
    project = above / "my-analysis"
    assert "cd my-analysis" in said
    assert "shortloop run analysis" in said
    assert "It needs" not in said
    panel = pd.read_parquet(project / "data/panel.parquet")
    panel[panel["firm"] <= "F012"].to_parquet(project / "data/panel.parquet")  # all would take half a minute
    every = ["panel ", "fit plain", "fit market", "fit trend", "table ", "page "]
    assert built_by(environment.works(project, "shortloop", "run", "analysis")) == every
    page = (project / "results/analysis/page.html").read_text(encoding="utf-8")
    assert all(name in page for name in ("plain", "market", "trend"))
    assert (project / "results/analysis/slopes.png").stat().st_size > 5_000
    assert built_by(environment.works(project, "shortloop", "run", "analysis")) == []
    settings = project / "analysis.toml"
    settings.write_text(
        settings.read_text().replace('"investment ~ capital"', '"investment ~ capital + year"')
    )
    said = environment.works(project, "shortloop", "run", "analysis")
    assert built_by(said) == ["fit plain", "table ", "page "]
    changed = panel[panel["firm"] <= "F012"].copy()
    changed.loc[changed["firm"] == "F007", "investment"] += 5
    changed.to_parquet(project / "data/panel.parquet")
    said = environment.works(project, "shortloop", "run", "analysis")
    assert said.count("1 of 12 units computed") == 3
    method = project / "methods/a_page.py"
    method.write_text(method.read_text().replace("Slopes of firms", "All slopes"))
    assert built_by(environment.works(project, "shortloop", "run", "analysis")) == ["page "]
    assert "All slopes" in (project / "results/analysis/page.html").read_text(encoding="utf-8")
    assert built_by(environment.works(project, "ax", "--help")) == []
    said = environment.works(project, "shortloop", "run", "once")
    assert built_by(said) == ["fit square", "table "]
    assert "passed" in environment.works(project, "python", "-m", "pytest", "-p", "no:cacheprovider")


OF_A_STUDY = {"import_epochs S01", "train S02", "group ", "report "}
OF_A_PANEL = {"csvimport ", "panel_fit 000", "panel_report "}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "command", "settings", "default", "small", "jobs", "name"),
    [
        ("eeg", "run", "study.toml", "eeg/study/default.toml", STUDY, OF_A_STUDY, "simulated"),
        ("panel", "run panel", "panel.toml", "panel/default.toml", SMALL_PANEL, OF_A_PANEL, "small"),
    ],
)
def test_an_analysis_runs_with_the_methods_of_the_package(
    above: Path, environment: Environment, kind: str, command: str, settings: str, default: str,
    small: str, jobs: set[str], name: str,
) -> None:  # fmt: skip
    assert f"shortloop {command}\n" in environment.works(
        above, "shortloop", "init", f"my-{kind}", f"--{kind}"
    )
    assert environment.works(above, "python", "-c", "import shortloop.eeg.mne_scores") == ""
    project = above / f"my-{kind}"
    original = (ROOT / "shortloop" / default).read_text(encoding="utf-8")
    assert (project / settings).read_text(encoding="utf-8") == original
    assert "passed" in environment.works(project, "python", "-m", "pytest", "-p", "no:cacheprovider")
    (project / "rows.csv").write_text(ROWS, encoding="utf-8")
    (project / settings).write_text(small, encoding="utf-8")
    run = ("shortloop", *command.split())
    assert jobs <= {*built_by(environment.works(project, *run))}
    assert (project / f"results/{name}/report.html").is_file()
    assert built_by(environment.works(project, *run)) == []
    if kind == "eeg":
        (project / settings).write_text(small.replace("count = 20", "count = 30"), encoding="utf-8")
        again = built_by(environment.works(project, *run, "--until", "group"))
        assert {each.split()[0] for each in again} == {"permute", "group"}
        assert "peak" in environment.works(project, "shortloop", "run", "ridge")
        assert "shortloop.methods.a_train" in environment.works(project, "shortloop", "show", "main-6")


@pytest.mark.slow
def test_an_archive_of_sources_installs_the_same(above: Path, environment: Environment) -> None:
    (above / "for-sdist").mkdir()
    archive = built(sources(above / "for-sdist"), "sdist")
    other = Environment(above / "env-sdist", borrows=True)
    other.install("--no-deps", "--no-index", "--no-build-isolation", str(archive))
    assert other.files() == environment.files()
    assert "17 files" in other.works(above, "shortloop", "init", "from-sdist")


@pytest.mark.slow
def test_the_core_alone_runs_a_project(above: Path, wheel: Path) -> None:
    """Installed as by a user, with what it requires and nothing else."""
    fresh = Environment(above / "fresh", borrows=False)
    fresh.install(str(wheel))
    installed = {each.name for each in fresh.library.iterdir()}
    assert not {"mne", "sklearn", "matplotlib", "pandas", "scipy", "numba", "pyarrow"} & installed
    said = fresh.works(above, "shortloop", "init", "bare")
    assert "It needs matplotlib, pandas, pyarrow, statsmodels: pip install 'shortloop[example]'" in said
    project = above / "bare"
    for file in project.glob("methods/a_*.py"):
        file.unlink()
    for name, text in BARE.items():
        (project / name).write_text(text, encoding="utf-8")
    assert built_by(fresh.works(project, "shortloop", "run", "bare")) == ["numbers ", "squares "]
    assert built_by(fresh.works(project, "shortloop", "run", "bare")) == []
    script = project / "build_scripts/build_bare.py"
    script.write_text(script.read_text(encoding="utf-8").replace("9", "10"), encoding="utf-8")
    for command, words in (
        ("plan bare", "1 × numbers: option count: 9 → 10"),
        ("run bare", "1 of 10 units computed"),
        ("why squares", "compared with main-"),
        ("show main-2", "numpy"),
        ("compare main-2 main-5", "square"),
        ("verify", "all are as they were recorded"),
        ("gc --delete", "deleted"),
        ("jobs --state current", "2 jobs"),
    ):
        assert words in fresh.works(project, "shortloop", *command.split())
    code = "import shortloop; print(shortloop.load('main-5')['square'].tolist())"
    said = fresh.works(project, "python", "-c", code)
    assert said.strip() == "[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]"


def test_the_analysis_is_short() -> None:
    """All of it: methods, build script and settings."""
    folder = ROOT / "shortloop" / "templates"
    files = [each for name in ("methods", "build_scripts") for each in folder.glob(f"*/{name}/*")]
    files.append(folder / "analysis/analysis.toml")
    texts = [file.read_text(encoding="utf-8") for file in files if file.suffix in (".py", ".toml")]
    assert len(texts) == 8
    lines = sum(bool(line.strip()) for text in texts for line in text.splitlines())
    assert lines <= MOST_LINES
    assert f"a page: {lines} lines" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["taken"], "the folder is not empty"),
        (["b@d"], "invalid project name"),
        (["inside/new"], "a project cannot be inside another project"),
        (["x" * 100], "the path of the server's socket would be too long"),
        (["new", "--eeg", "--panel"], "choose one analysis"),
    ],
)
def test_what_makes_no_project_is_refused(above: Path, arguments: list[str], said: str) -> None:
    (above / "taken").mkdir(exist_ok=True)
    (above / "taken" / "file").touch()
    (above / "inside").mkdir(exist_ok=True)
    (above / "inside" / "accelerator.conf").touch()
    before = sorted(above.iterdir())
    assert_one_message(forked(above, "init", *arguments), said)
    assert sorted(above.iterdir()) == before
