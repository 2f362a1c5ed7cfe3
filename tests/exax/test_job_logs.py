"""Logging and warnings of stages that set up neither, and of those that do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STAMP = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"


def said(folder: Path, code: str, where: str = "Path.cwd()") -> list[str]:
    begin = "import logging, os, warnings\nfrom pathlib import Path\n"
    begin += "import shortloop.store.notes as room\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{begin}room.keep_logs({where})\nlog = logging.getLogger('fit')\n{code}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()


def test_records_from_info_on_have_time_level_and_name(tmp_path: Path) -> None:
    import re

    lines = said(tmp_path, "log.debug('no'); log.info('a\\nb'); log.warning('c\\nd')")
    assert len(lines) == 4
    wanted = [rf"{STAMP} INFO fit: a", rf"{STAMP} INFO fit: b", rf"{STAMP} WARNING fit: c", "d"]
    assert all(re.fullmatch(each, line) for each, line in zip(wanted, lines, strict=True)), lines


@pytest.mark.parametrize(
    ("set_up", "lines"),
    [
        ("logging.basicConfig(format='%(message)s')", ["warning"]),
        ("logging.basicConfig(format='%(message)s', level='INFO')", ["info", "warning"]),
        (
            "logging.getLogger().setLevel('INFO')\nlogging.basicConfig(format='%(message)s')",
            ["info", "warning"],
        ),
        ("logging.getLogger().addHandler(logging.StreamHandler())", ["warning"]),
        ("log.propagate = False\nlog.addHandler(logging.NullHandler())", []),
    ],
)
def test_a_stage_that_sets_up_logging_has_what_it_asked_for(
    tmp_path: Path, set_up: str, lines: list[str]
) -> None:
    assert said(tmp_path, f"{set_up}\nlog.info('info')\nlog.warning('warning')") == lines


WARN = "import warnings\nfor number in range(1000):\n    warnings.warn(f'odd {number}')\n"


def test_a_warning_is_shown_once_for_a_place(tmp_path: Path) -> None:
    (tmp_path / "OUTPUT").mkdir()
    (tmp_path / "once.py").write_text(WARN, encoding="utf-8")
    code = "import sys; sys.path.insert(0, '.')\nchild = os.fork()\nimport once\nif child: os.wait()"
    lines = said(tmp_path, f"import warnings\n{code}")
    assert len(lines) == 2, lines  # of two processes: with the line of the file
    assert said(tmp_path, code) == []  # and of a third of the job


def test_what_a_stage_does_with_warnings_works(tmp_path: Path) -> None:
    code = (
        "with warnings.catch_warnings(record=True) as found:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(3): warnings.warn('odd')\n"
        "assert len(found) == 3\n"
        "warnings.simplefilter('error')\n"
        "try: warnings.warn('odd')\n"
        "except UserWarning: log.warning('raised')\n"
    )
    (line,) = said(tmp_path, code)
    assert line.endswith("WARNING fit: raised")


def test_a_warning_of_another_machine_says_its_place_to_the_job(tmp_path: Path) -> None:
    assert "<string>:8: UserWarning" in said(tmp_path, WARN, "None")[1]
