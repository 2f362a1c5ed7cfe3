"""Sweeps through a real server: what is run, what is used again, what fails, and what is said of it."""

from __future__ import annotations

import csv
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest
from live_project import PATIENCE, SHORTLOOP, fixture_of, script, wait_for
from on_a_terminal import command_on_a_terminal
from powers_project import PowersProject

OWN_WAY = """\
import os
import tomllib
from pathlib import Path

from shortloop.run.executor import run_pipeline
from shortloop.plan.settings_files import SettingsFile


def main(urd):
    file = Path(os.environ["SHORTLOOP_SETTINGS"])
    seed = tomllib.loads(file.read_text())["seed"]
    given = SettingsFile("powers", file, "settings", file)
    return run_pipeline(urd, lambda run: run.build("first", seed=seed), name="own", settings=given)
"""
DONE = re.compile(r"^(\d+) of (\d+): (.*): (\d+) jobs? built, (\d+) reused, [\d.]+ \w+", re.M)


class Swept(PowersProject):
    """Scripts of toy jobs."""

    sources: ClassVar = {
        **PowersProject.sources,
        "build_scripts/build_alone.py": script('return run.build("first", seed=1)'),
        "build_scripts/build_own_way.py": OWN_WAY,
    }

    def sweep(self, *arguments: str, status: int = 0) -> str:
        done = self.shortloop("sweep", *arguments)
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout + done.stderr

    def rows(self, name: str) -> list[dict[str, str]]:
        with (self.folder / "results" / name).open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))


class SweptStudy(Swept):
    """A study."""

    analyses = ("eeg",)


def counts(said: str) -> list[tuple[str, int, int]]:
    """Of each combination, how many jobs it built and used again."""
    return [(label, int(built), int(reused)) for _, _, label, built, reused in DONE.findall(said)]


project = fixture_of(Swept)
study = fixture_of(SweptStudy)


@pytest.mark.slow
def test_a_sweep_of_a_script_of_ones_own(project: Swept) -> None:
    asked = ("--script", "powers", "--set", "seed=2,3", "--set", "power=1,2")
    said = project.sweep(*asked)
    assert counts(said) == [
        ("seed=2, power=1", 2, 0),
        ("seed=2, power=2", 1, 1),
        ("seed=3, power=1", 2, 0),
        ("seed=3, power=2", 1, 1),
    ]
    rows = project.rows("powers-sweep/power+seed.csv")
    assert [(row["seed"], row["power"], float(row["facts.value"])) for row in rows] == [
        (str(seed), str(power), float(seed**power)) for seed in (2, 3) for power in (1, 2)
    ]
    assert all(float(row["facts.pair.2"]) == float(row["power"]) for row in rows)
    assert (project.folder / "results/powers-sweep/power+seed.png").read_bytes()[:4] == b"\x89PNG"
    assert "facts.value" in said
    assert {folder.name for folder in (project.folder / "results").glob("powers-*")} == {
        "powers-sweep",
        *(f"powers-powers-power-{power}+seed-{seed}" for seed in (2, 3) for power in (1, 2)),
    }
    assert (project.folder / "powers.toml").read_text(encoding="utf-8") == "seed = 2\n"
    more = project.sweep("--script", "powers", "--set", "power=1,2,4", "--set", "seed=3,2")
    assert [(label, built) for label, built, _ in counts(more) if built] == [
        ("power=4, seed=3", 1), ("power=4, seed=2", 1),  # and none of those that were there
    ]  # fmt: skip
    assert project.rows("powers-sweep/power+seed.csv")[-1]["facts.value"] == "16.0"
    # Its settings are kept with each run, and can be run again.
    run = project.rows("powers-sweep/power+seed.csv")[-1]["run"]
    project.shortloop("runs", run, "--settings-to", "again.toml").ok()
    again = project.shortloop("run", "powers", "--settings", "again.toml")
    assert "0 jobs built, 2 reused" in again.stdout, again.stdout + again.stderr


def test_a_combination_that_fails_is_a_row(project: Swept) -> None:
    said = project.sweep("--script", "powers", "--set", "power=2,9,5", status=1)
    rows = project.rows("powers-sweep/power.csv")
    assert [row["facts.value"] for row in rows] == ["4.0", "", "32.0"]
    assert [bool(row["problem"]) for row in rows] == [False, True, False]
    assert "ValueError: nine is too many" in rows[1]["problem"]
    assert re.search(r"2 of 3: power=9: failed after [\d.]+ s: .*nine is too many", said)
    assert f"details: `shortloop runs {rows[1]['run']}`" in said
    assert "nine is too many" in project.shortloop("runs", rows[1]["run"]).stdout


def test_what_cannot_run_is_said_of_all_at_once_and_nothing_runs(project: Swept) -> None:
    before = project.shortloop("runs", "--all").stdout
    said = project.sweep(
        "--script", "powers", "--set", "power=1,10,77", "--set", "way=a,c", "--set", "seed=5", status=1
    )
    assert "5 of 6 combinations cannot run, so none is run" in said
    assert said.count("\npower=10:") == said.count("\npower=77:") == said.count("\nway=c:") == 1
    assert said.count("field:") == 3
    for words in ("powers.toml", "'c'", "10", "77"):
        assert words in said
    assert project.shortloop("runs", "--all").stdout == before
    assert "all:\n  the settings file has an unknown key" in project.sweep(
        "--script", "powers", "--set", "pwer=1,2", status=1
    )


def test_scripts_that_cannot_be_swept(project: Swept) -> None:
    said = project.sweep("--script", "alone", "--set", "seed=1,2", status=1)
    assert "because it reads no settings file" in said
    assert '@pipeline(settings="FILE.toml")' in said
    said = project.sweep("powers.toml", "--script", "own_way", "--set", "seed=1,2", status=1)
    assert "because it does not read its settings file with @pipeline" in said
    assert "no such build script" in project.sweep("--script", "none", "--set", "a=1,2", status=1)


def test_ctrl_c_keeps_what_is_done(project: Swept) -> None:
    asked = ("--script", "powers", "--set", "power=6,7,8", "--set", "seed=5")
    hold = project.folder / "hold-7"
    hold.touch()
    running = project.popen(SHORTLOOP, "sweep", *asked, session=True)
    try:
        wait_for((project.folder / "reached-7").exists)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        said, _ = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
        hold.unlink()
    assert running.returncode == 130, said
    assert "Traceback" not in said
    assert counts(said) == [("power=6, seed=5", 2, 0)]
    assert "interrupted: 1 of 3 combinations are done" in said
    assert not (project.folder / "reached-8").exists()
    assert [(built, reused) for _, built, reused in counts(project.sweep(*asked))] == [(0, 2), (1, 1), (1, 1)]


EDITED = r"edited during the sweep \((.+)\): (\d) combinations? run again"


@contextmanager
def edited_meanwhile(project: Swept, power: int, file: str, old: str, new: str, *more: str) -> Iterator[str]:
    """A sweep of three powers, in which a file is edited while the middle one is computed; what it says."""
    hold, reached = (project.folder / f"{name}-{power}" for name in ("hold", "reached"))
    powers = f"power={power - 1},{power},{power + 1}"
    hold.touch()
    with project.popen(SHORTLOOP, "sweep", "--script", "powers", "--set", powers, *more) as running:
        try:
            reached.unlink(missing_ok=True)
            wait_for(reached.exists)
            project.edit(file, old, new)
        finally:
            hold.unlink()
        said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    try:
        yield said
    finally:
        project.edit(file, new, old)


@pytest.mark.slow
def test_code_that_is_edited_meanwhile(project: Swept) -> None:
    """What ran before is run again, so that all rows are of the same code."""
    with edited_meanwhile(project, 6, "methods/a_square.py", "** power,", "** power + 1,") as said:
        ((why, again),) = re.findall(EDITED, said)
        assert "a_square" in why
        assert again == "1"
        rows = project.rows("powers-sweep/power.csv")
        assert [float(row["facts.value"]) for row in rows] == [33.0, 65.0, 129.0], said
        assert [label for label, _, _ in counts(said)] == ["power=5", "power=6", "power=7", "power=5"]
    # A build script says which jobs there are: no method is another, and yet rows would not belong together.
    script, more = "build_scripts/build_powers.py", ("--set", "seed=11")
    with edited_meanwhile(project, 3, script, "settings.seed)", "settings.seed + 1)", *more) as said:
        assert [again for _, again in re.findall(EDITED, said)] == ["2"], said
        rows = project.rows("powers-sweep/power+seed.csv")
        assert [float(row["facts.value"]) for row in rows] == [144.0, 1728.0, 20736.0], said


@pytest.mark.slow
def test_a_sweep_of_a_study(study: SweptStudy) -> None:
    scores, alphas = ("balanced-accuracy", "balanced-accuracy", "auc"), ("0.05", "0.01", "0.05")
    asked = ("--zip", f"decoding.score={','.join(scores)}", "--zip", f"group.alpha={','.join(alphas)}")
    said = study.sweep(*asked)
    rows = study.rows("live-sweep/decoding.score+group.alpha.csv")
    assert [(row["decoding.score"], row["group.alpha"]) for row in rows] == [
        *zip(scores, alphas, strict=True)
    ]
    assert [number for _, number, _ in counts(said)][1] == 3  # each participant, the group and the report
    peaks = [(row["amplitude over time: peak (%)"], row["amplitude over time: peak (AUC)"]) for row in rows]
    assert [bool(percent) for percent, _ in peaks] == [True, True, False]
    assert [bool(area) for _, area in peaks] == [False, False, True]
    assert 50 < float(peaks[0][0]) <= 100
    assert 0.5 < float(peaks[2][1]) <= 1
    best = "amplitude over time: best of each participant (%)"
    low, middle, high = (
        float(rows[0][name])
        for name in (
            f"{best}: 95 % interval of the mean over participants, lower",
            best,
            f"{best}: 95 % interval of the mean over participants, upper",
        )
    )
    assert low <= middle <= high  # 100 % in both participants
    assert {number for _, number, _ in counts(study.sweep(*asked))} == {0}


@pytest.mark.slow
def test_a_terminal_shows_what_runs(project: Swept) -> None:
    """A line that is drawn again and again, and one for each that is done."""
    words = (SHORTLOOP, "sweep", "--script", "powers", "--set", "power=1,2,3", "--set", "seed=7")
    text = command_on_a_terminal(words, project.folder, project.environment())
    assert "checking combinations: 3 of 3" in text
    assert len(counts(text.replace("\r", "\n"))) == 3, text
