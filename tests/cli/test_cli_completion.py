"""Completion: each shell is answered, as its script asks, with commands, options and names of the project."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases import first_cases
from command_line import forked
from python_process import ended
from toy_jobs import ToyJobs, toy_project

COMMAND = Path(sys.executable).with_name("shortloop")
HEAVY = "pydantic, rich.console, numpy, shortloop.store.store"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = toy_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    jobs = ToyJobs(folder)
    for partition in "AB":
        jobs.make(partition)
    jobs.ended()
    (folder / "methods").mkdir(exist_ok=True)
    (folder / "methods" / "__init__.py").touch()
    (folder / "methods" / "build_toy.py").write_text("raise SystemExit('it ran')\n", encoding="utf-8")
    return folder


def asked(shell: str, *words: str, action: str = "get-args") -> dict[str, str]:
    """Variables with which a shell asks, with the cursor at the end of the last word."""
    return {
        "_SHORTLOOP_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "\n".join(("shortloop", *words)),
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": " ".join(("shortloop", *words)),
        "_TYPER_COMPLETE_FISH_ACTION": action,
    }


def answer(
    folder: Path, shell: str, *words: str, action: str = "get-args"
) -> subprocess.CompletedProcess[str]:
    """What the installed command prints."""
    return ended([COMMAND], folder, **asked(shell, *words, action=action))


def offered(folder: Path, *words: str) -> list[str]:
    done = answer(folder, "bash", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def offered_by_a_fork(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: str) -> list[str]:
    """The same, quicker."""
    for name, value in asked("bash", *words).items():
        monkeypatch.setenv(name, value)
    done = forked(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ru",), ["run", "runs"]),
        (("run", "--un"), ["--until"]),
        (("run", "--until", "x", "--o"), ["--only"]),
        (("run", "--until", "x", "--unt"), []),  # it is given already
        (("run", ""), ["toy", "build_toy"]),
        (("plan", "--all", "bu"), ["build_toy"]),
        (("run", "toy", ""), []),
        (("show", ""), ["main-1", "main-0"]),
        (("compare", "main-0", ""), ["main-1", "main-0"]),
        (("why", "s"), ["scores"]),
        (("jobs", "--stage", ""), ["scores"]),
        (("jobs", "--stage", "=", "s"), ["scores"]),  # as bash splits --stage=s
        (("jobs", "--stage="), ["--stage=scores"]),
        (("jobs", "--partition", ""), ["A", "B"]),
        (("jobs", "--settings", ""), ["small"]),
        (("jobs", "--state", "d"), ["damaged", "deleted"]),
        (("jobs", "--sort", "s"), ["seconds", "size", "stage"]),
        (("run", "--force", "m"), ["main-1", "main-0"]),
        (("run", "--settings", ""), []),  # a file
        (("init", "--p"), ["--panel"]),
        (("no-such", ""), []),
        (("show", "it's", ""), []),
    ],
    ids=str,
)
def test_what_is_offered(
    project: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: list[str]
) -> None:
    assert sorted(offered_by_a_fork(monkeypatch, project, *words)) == sorted(expected)


def test_every_command_is_offered_outside_of_a_project(tmp_path: Path) -> None:
    assert {"init", "run", "plan", "why", "show", "gc", "study", "sweep"} <= {*offered(tmp_path, "")}
    beside = Path(__file__).parents[2] / "workdirs/main"  # of the checkout, whose jobs are known anywhere
    assert {*offered(tmp_path, "show", "")} <= {job.name for job in beside.glob("main-*")}


def test_zsh_and_fish_are_told_what_words_mean(project: Path) -> None:
    meaning = "Run only this stage and the stages it depends on."
    done = answer(project, "zsh", "run", "--unt")
    assert done.stdout == f"""_arguments '*: :(("--until":"{meaning}"))'\n"""
    assert answer(project, "zsh", "run", "--settings", "x").stdout == "_files\n"
    assert answer(project, "fish", "run", "--unt").stdout == f"--until\t{meaning}\n"
    assert answer(project, "fish", "run", "--unt", action="is-args").returncode == 0
    assert answer(project, "fish", "run", "--settings", "x", action="is-args").returncode == 1


def test_words_that_bash_would_split_are_quoted(project: Path) -> None:
    code = "import sqlite3; base = sqlite3.connect('workdirs/main/.shortloop/main.sqlite')"
    code += "; base.execute(\"update places set partition = 'A B$' where partition = 'A'\"); base.commit()"
    subprocess.run([sys.executable, "-c", code], cwd=project, check=True)
    assert answer(project, "bash", "jobs", "--partition", "").stdout.splitlines()[0] == r"A\ B\$"


def test_it_loads_nothing_heavy_and_changes_nothing(project: Path) -> None:
    index = project / "workdirs/main/.shortloop/main.sqlite"
    index.unlink(missing_ok=True)
    loaded = f"{{*{HEAVY.split(', ')}}} & {{*sys.modules}}"
    code = "import atexit, sys; from shortloop.__main__ import main\n"
    code += f"atexit.register(lambda: print(*{loaded}, file=sys.stderr)); main()"
    asks = {"_SHORTLOOP_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "shortloop jobs --stage "}
    done = ended(["-c", code], project, **asks)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == ""
    assert not index.exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_with_its_script(project: Path) -> None:
    script = f"""
PATH={COMMAND.parent}:$PATH
eval "$(shortloop --show-completion bash)"
COMP_WORDS=(shortloop why s) COMP_CWORD=2
_shortloop_completion shortloop
echo "${{COMPREPLY[@]}}"
"""
    assert ended(["bash", "-c", script], project).stdout == "scores\n"


@first_cases(1, "shell", ["bash", "zsh", "fish"])
def test_it_is_installed(tmp_path: Path, shell: str) -> None:
    own = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = ended([COMMAND, "--install-completion", shell], tmp_path, **own)
    assert done.returncode == 0, done.stderr
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any("_SHORTLOOP_COMPLETE" in file.read_text(encoding="utf-8") for file in files)
