"""Tasks of Slurm: how each ended, and what Slurm does not take."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from refusal import refusal

from shortloop.base.errors import TransientError
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import Reply, Work

pytest.importorskip("submitit", reason="submitit is not installed")
from submitit.core.utils import FailedJobError, UncompletedJobError

from shortloop.engines import submitit_engine
from shortloop.engines.submitit_engine import START, SubmititEngine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(submitit_engine, "engine_folder", lambda: tmp_path)
    return tmp_path


def engine_with(**options: Any) -> SubmititEngine:
    return SubmititEngine(EngineSettings("slurm", "local", options=options), 2)


class Task(SimpleNamespace):
    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


def task(result: object, is_done: bool = True, state: str = "OUT_OF_MEMORY") -> Any:
    def given() -> object:
        if isinstance(result, Exception):
            raise result
        return result

    paths = SimpleNamespace(result_pickle=Path("none"))
    return Task(
        done=lambda: is_done,
        state=state,
        result=given,
        stderr=lambda: "first\nslurmstepd: error: Detected 1 oom_kill event\n",
        cancel=lambda check: None,
        paths=paths,
    )


def test_how_a_task_ended_is_said(folder: Path) -> None:
    engine = engine_with()
    assert engine._reply(task((Reply(2.0, b"x"), 3.0))) == Reply(2.0, b"x")
    assert [*engine._starts] == [START, 3.0]
    killed = engine._reply(task(UncompletedJobError("no output")))
    assert killed.lost == "its task ended, OUT_OF_MEMORY: slurmstepd: error: Detected 1 oom_kill event"
    late = FailedJobError("submitit.core.utils.UncompletedJobError: Job not requeued")
    assert engine._reply(task(late)).lost == "its task was preempted, or had no time left"
    assert engine._reply(task(None, False, "PREEMPTED")).lost == "its task was preempted"
    with pytest.raises(RuntimeError, match="a task has failed: No module named 'shortloop'"):
        engine._reply(task(FailedJobError("No module named 'shortloop'")))
    engine.close()
    assert not [*folder.iterdir()]


def test_what_slurm_never_starts_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = SubmititEngine(EngineSettings("slurm"), 2)
    asked = {"cores": 64}
    engine._tasks = {task(None, False): {}, task(None, False): asked}
    reasons = {"7": "Resources", "8": "Resources"}

    def squeue(command: list[str], text: bool) -> str:
        return "".join(f"{reasons[each]}\n" for each in command[-1].partition("=")[2].split(","))

    for each, number in zip(engine._tasks, "78"):
        each.job_id = f"{number}_0"  # type: ignore[misc]
    monkeypatch.setattr(subprocess, "check_output", squeue)
    assert [engine.silent({}), engine.silent(asked)] == ["", ""]
    reasons["8"] = "PartitionConfig"
    assert [engine.silent({}), engine.silent({"gpus": 1})] == ["", ""]
    assert engine.silent(asked) == "Slurm starts no task that needs 64 cores (PartitionConfig)"


def test_what_slurm_does_not_take_is_said(folder: Path) -> None:
    (folder / "submitit-1").mkdir()  # of a run that was killed
    engine = engine_with(slurm_partition="long", timeout_min=5)
    assert len([*folder.iterdir()]) == 1
    engine.close()
    for wrong in ({"slurm_partitoin": "long"}, {"mem_gb": "much"}):
        with refusal("Slurm cannot be used so", *wrong):
            engine_with(**wrong)._executor({})

    def submits(*given: Any) -> None:
        raise FailedJobError("sbatch: error: Requested node configuration is not available")

    executor: Any = SimpleNamespace(map_array=submits)
    with pytest.raises(TransientError, match="node configuration is not available"):
        engine._submitted(executor, Work("", b""), [[b"1"]], {})
