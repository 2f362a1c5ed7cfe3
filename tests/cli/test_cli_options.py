"""Options are taken anywhere in a command line; a wrong one is answered by what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import first_cases
from command_line import forked
from toy_jobs import project_of_two_jobs

folder = pytest.fixture(project_of_two_jobs)


@first_cases(
    2,
    "arguments",
    [
        ("--panel", "new", "--data", "a.csv"),
        ("new", "--data=a.csv", "--panel"),
        ("--data", "a.csv", "new", "--panel"),
        ("--data=a.csv", "--panel", "new"),
        ("--data", "a.csv", "new"),
        ("--", "new"),
    ],
    ids=" ".join,
)
def test_init_takes_its_options_anywhere(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    rows = "".join(f"{each % 5},{each},{each * 2.5}\n" for each in range(40))
    (tmp_path / "a.csv").write_text(f"firm,year,value\n{rows}", encoding="utf-8")
    done = forked(tmp_path, "init", *arguments)
    assert done.returncode in (0, 3), done.stderr  # 3: the data leave a question open
    assert (tmp_path / "new" / "accelerator.conf").is_file()
    assert (tmp_path / "new" / "panel.toml").is_file() == ("--" not in arguments)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("run", "--untill", "train"), "--until"),
        (("init", "new", "--pannel"), "--panel"),
        (("study", "--quik"), "--quick"),
        (("jobs", "--partion=A"), "--partition"),
        (("plan", "--jsn"), "--json"),
        (("shwo", "main-1"), "'show'"),
    ],
    ids=str,
)
def test_a_wrong_word_is_answered_by_the_right_one(
    folder: Path, arguments: tuple[str, ...], meant: str
) -> None:
    done = forked(folder, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("shortloop: no such ")
    assert f"did you mean {meant}" in done.stderr
    assert not (folder / "new").exists()


def test_an_option_that_is_like_no_other_lists_them(folder: Path) -> None:
    done = forked(folder, "runs", "--zzz")
    assert "expected:     --all, --json, --settings-to" in done.stderr
    assert "`shortloop runs --help`" in done.stderr.replace("python -m ", "")
