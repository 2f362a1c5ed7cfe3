"""Random edits of files that units refer to, of their order and number, with kills: all that a run leaves is
what a process leaves that calls the functions one after the other and keeps nothing.

EDITS says how many edits, SEED which; ``make soak`` asks for many.
"""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest
from random_units import UnitsProject

pytestmark = [] if "EDITS" in os.environ else [pytest.mark.slow]
EDITS = int(os.environ.get("EDITS", "20"))
SEED = int(os.environ.get("SEED") or 0)
WEIGHTS = {
    **dict.fromkeys(["change_file", "make_equal", "swap_files", "rename_file", "change_job"], 4),
    **dict.fromkeys(["change_unseen", "rename_folder", "add_file", "drop_file", "add_job", "change_kind"], 2),
    **dict.fromkeys(["change_code", "damage_rows", "lose_jobs", "clean_up", "kill"], 1),
}


def test_random_edits_of_units() -> None:
    print(f"SEED={SEED}")
    rng, log = random.Random(SEED), list[str]()
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        project = UnitsProject(Path(folder), rng)
        project.start_server()
        try:
            check(project, log)
            while len(log) < EDITS:
                for name in rng.choices(list(WEIGHTS), [*WEIGHTS.values()], k=rng.randint(1, 3)):
                    log.append(name)
                    getattr(project, name)()
                check(project, log)
            _, said = project.found("slices")
            assert "0 jobs built" in said
        finally:
            print(*log, sep="\n")
            project.stop_server()


def check(project: UnitsProject, log: list[str]) -> None:
    asked = project.ask()
    engine = project.rng.choice(["slices", "joblib"])
    found, said = project.found(engine)
    for job, values, right in zip(asked, found, project.expected(), strict=True):
        assert values == right, (engine, job, said)
    log.append(f"run on {engine}: {said.splitlines()[-1]}")
