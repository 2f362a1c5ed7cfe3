"""Where jobs find the engine of their run, and what it has computed before they began."""

from __future__ import annotations

import json
import os
from pathlib import Path

from shortloop.engines.messages import EngineNote
from shortloop.jobs.project import cache_directory

__all__ = ["early_results", "engine_of_run", "note_file"]


def note_file() -> Path:
    """Where the note is, while a run goes on that has an engine.

    Returns
    -------
    Path
    """
    return cache_directory("engine") / "run.json"


def early_results() -> Path:
    """Where results wait for jobs that have not begun; what a run that was cut off has left is used later.

    Returns
    -------
    Path
        A folder, if there are any.
    """
    return cache_directory("engine") / "early"


def engine_of_run() -> EngineNote | None:
    """The engine of the run that this job belongs to.

    Returns
    -------
    EngineNote or None
        None: slices.
    """
    try:
        note: EngineNote = json.loads(note_file().read_text(encoding="utf-8"))
        os.kill(note["run"], 0)  # a run that was killed left its note behind
    except (OSError, ValueError, KeyError):
        return None
    return note
