"""Heavy libraries are loaded once for many jobs, and not at all for a run that builds nothing."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shortloop.jobs import warm

ROOT = Path(__file__).resolve().parents[2]


def test_every_module_to_load_exists() -> None:
    for module in {*warm.ALWAYS, *(each for modules in warm.MODULES.values() for each in modules)}:
        importlib.import_module(module)


def test_every_stage_that_is_named_is_a_method() -> None:
    assert {f"a_{stage}" for stage in warm.MODULES} <= {
        file.stem for file in (ROOT / "methods").glob("a_*.py")
    }


def test_only_the_process_that_forks_jobs_loads_anything(tmp_path: Path) -> None:
    code = f"""
import sys, types
sys.path.insert(0, {str(ROOT)!r})
from shortloop.jobs.server import prepare_runner
main = types.SimpleNamespace(__file__=sys.argv[1])
sys.modules["__main__"] = main
prepare_runner()
print("numpy" in sys.modules)
"""
    (tmp_path / "accelerator.conf").touch()
    note = tmp_path / "workdirs" / ".cache" / "warm" / "run.json"
    note.parent.mkdir(parents=True)

    def loads(main: str, pid: int) -> bool:
        note.write_text(json.dumps({"pid": pid, "modules": ["numpy"]}), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", code, main], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip() == "True"

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert loads("/x/accelerator/runner.py", os.getpid())
    assert not loads("/x/bin/ax", os.getpid())
    assert not loads("/x/accelerator/runner.py", gone.pid)  # the run that asked for it is over


def test_a_run_that_is_over_leaves_no_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "accelerator.conf").touch()
    monkeypatch.chdir(tmp_path)
    warm._note().write_text("{}", encoding="utf-8")
    warm.forget_warm()
    warm.forget_warm()
    assert not warm._note().exists()
