"""Repeat a kept job in a scratch folder, its cache untouched, and compare the results."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.engines.engine_lifetime import RunningEngine, environment
from shortloop.exax.cost import progress_of
from shortloop.exax.repeated_job import lay_out_scratch
from shortloop.project.project import FINISHED, cache_directory, job_directory, project_directory
from shortloop.settings.engine import EngineSettings
from shortloop.stages.results import sources_of
from shortloop.store.integrity import NOTES, content_of_job, hash_outputs
from shortloop.store.manifest import read_manifest
from shortloop.store.setup import setup_of, title_of, whole_input
from shortloop.units.messages import ENGINE_FOLDER
from shortloop.units.process_ends import ends_with_this
from shortloop.units.recording import Timed, read_times

LOOK_EVERY = 0.1  # s


@dataclass(frozen=True)
class Repeated:
    """A job that was repeated."""

    job: str
    stage: str
    partition: str
    seconds_before: float  # that the kept job took
    times: list[Timed]
    same_result: bool | None  # None if the kept job has no manifest to compare with


def repeat(
    job: str,
    recorder: Sequence[str],  # module, function and arguments
    folder: Path,
    engine: EngineSettings,
    tell: Callable[[float], object],  # is told the share that is done
    prefix: Sequence[str] = (),  # of the command: a program that looks on
    engine_prefix: Sequence[str] = (),
) -> Repeated:
    """Repeat a job in an empty folder, which keeps what it leaves and what the recorder records."""
    kept = job_directory(job)
    setup = setup_of(kept)
    if not (kept / FINISHED).exists():
        hint = "`shortloop jobs` lists whole jobs"
        raise InputError("only a finished job can be repeated", found=job, hint=hint)
    for _, source in sources_of(setup):
        whole_input(source.partition("/")[0])
    made = lay_out_scratch(kept, folder)
    (folder / "recorder.json").write_text(json.dumps(list(recorder)), encoding="utf-8")
    with (
        _with_engine(engine, title_of(setup), setup["slices"], engine_prefix),
        (folder / "said.txt").open("w+b") as said,
    ):
        process = subprocess.Popen(
            [*prefix, sys.executable, "-P", "-m", "shortloop.exax.repeated_job", str(folder)],
            cwd=project_directory(),
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=said if prefix else sys.stderr.fileno(),
            stderr=said if prefix else None,
            preexec_fn=ends_with_this(),
        )
        try:
            while process.poll() is None:
                progress = progress_of(made)
                tell(0.0 if progress is None else progress.share)
                time.sleep(LOOK_EVERY)
        finally:
            with contextlib.suppress(OSError):
                process.terminate()
            process.wait()
        said.seek(0)
        if process.returncode:
            sys.stderr.write(said.read().decode("utf-8", "replace"))
    if process.returncode:
        hint = f"its error is above; `shortloop isolate {job}` computes its units in one process"
        raise InputError(f"{job} failed when it was repeated", stage=setup["method"], hint=hint)
    of, before = str(setup["options"].get("partition") or ""), setup["exectime"]["total"]
    return Repeated(job, setup["method"], of, before, read_times(folder), _is_same(kept, made))


@contextlib.contextmanager
def _with_engine(
    settings: EngineSettings, caption: str, workers: int, prefix: Sequence[str]
) -> Iterator[None]:
    """Start an engine for the block, if the settings name one; that of a run in progress is not used."""
    os.environ[ENGINE_FOLDER] = name = f"engine-{os.getpid()}"
    try:
        with RunningEngine(settings, workers, prefix) as running:
            if running.is_apart:
                running.announce(caption, {})
                running.wait()
            yield
    finally:
        shutil.rmtree(cache_directory(name), ignore_errors=True)
        del os.environ[ENGINE_FOLDER]


def _is_same(kept: Path, made: Path) -> bool | None:
    manifest = read_manifest(kept)
    if manifest is None:
        return None
    names = [name for name in manifest.files if name not in NOTES]
    if not all((made / name).is_file() for name in names):
        return False
    rests_on = manifest.rests_on and {**manifest.rests_on, made.name: manifest.rests_on[kept.name]}
    return content_of_job(made, hash_outputs(made, names), rests_on)[0] == manifest.content
