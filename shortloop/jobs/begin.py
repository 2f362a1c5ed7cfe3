"""What is around a run: it has the project for itself, signals end it, and a record of it is kept."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

from shortloop.errors import InputError
from shortloop.jobs.exax import client
from shortloop.jobs.exax.listener import answers, ask, slices_now, watched
from shortloop.jobs.project import configuration, configuration_file
from shortloop.jobs.runs import Recorder, recorded
from shortloop.jobs.settings_files import SettingsFile
from shortloop.jobs.store.locks import only_run
from shortloop.jobs.store.store import Store
from shortloop.jobs.termination import explained, signals_raise
from shortloop.text import one_line

__all__ = ["begun"]

PREPARE = "shortloop.prepare"
ENDING, LOOK_EVERY = 5.0, 0.02  # s that a job may take to end when it was told to


@contextmanager
def begun(
    name: str, settings: SettingsFile | None = None, part: str = ""
) -> Iterator[tuple[Store, Recorder]]:
    """A run: nobody else's jobs are built, signals end it with its job, and a record of it is kept.

    Parameters
    ----------
    name, settings
        As of `run_pipeline`.
    part : str, optional
        Which part of the pipeline was asked for, as on the command line.

    Yields
    ------
    store : Store
        The finished jobs.
    record : Recorder
        To be told what is built.
    """
    with (
        recorded(name, settings, part) as record,
        explained(),
        signals_raise(),
        only_run(name),
        watched(),
        Store(slices_now) as store,
    ):
        _begin(store, settings)
        store.index.begun(name, settings.name if settings else "")
        try:
            yield store, record
        except (KeyboardInterrupt, SystemExit):
            _tell_kept(store)
            raise


def _tell_kept(store: Store) -> None:
    """Say how many units are kept of the job that this run has ended."""
    with contextlib.suppress(Exception):  # the server may have been ended as well
        deadline = time.monotonic() + ENDING
        while not json.loads(ask("status") or b"")["idle"]:  # of one that is stopped, it says so at once
            if time.monotonic() > deadline:
                return
            time.sleep(LOOK_EVERY)
        for line in store.tidy():
            print(one_line(line), flush=True)


def _begin(store: Store, settings: SettingsFile | None) -> None:
    """See that the run may begin, and clean up after runs that were cut off."""
    first = next(iter(configuration().method_directories))
    if first != PREPARE:
        raise InputError(
            "exax's processes are not prepared for jobs that can be trusted",
            file=configuration_file(),
            field="method packages",
            found=f"{first} is the first",
            expected=f"{PREPARE} auto-discover, before all others",
            hint="add that line, and start the server again if one runs",
        )
    if not store.index.kept:
        raise InputError(
            "this run may not write the project's index of jobs",
            file=", ".join(configuration().workdirs.values()),
            hint="run as the owner of the project, or in a copy of it",
        )
    answers()  # exax itself would wait for ever for one that is stopped
    if client.is_idle():  # else somebody's job, that is not ours, is not finished yet
        for line in store.tidy():
            print(one_line(line))
    if settings is not None and (taken := settings.take_over(store.index)):
        print(one_line(taken))
