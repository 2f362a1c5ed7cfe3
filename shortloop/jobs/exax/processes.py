"""The server, and the process that forks jobs, made fit for jobs that can be trusted as they start."""

from __future__ import annotations

import atexit
import gc
from pathlib import Path

from shortloop.jobs.exax.as_loaded import keep_methods_as_loaded, note_what_is_read
from shortloop.jobs.exax.broken import do_without_broken_methods, let_no_method_end_this
from shortloop.jobs.exax.cells import find_announced, load_announced
from shortloop.jobs.exax.datasets import forget_other_slices, refuse_other_slices
from shortloop.jobs.exax.endings import leave_pipe_of_job, look_often_for_end, name_lost_units, see_ends
from shortloop.jobs.exax.isolation import import_methods_apart
from shortloop.jobs.exax.libraries import watch_imports
from shortloop.jobs.exax.loading import load_from_source
from shortloop.jobs.exax.outputs import keep_output_in_one_process
from shortloop.jobs.exax.parent_death import forks_end_with_this
from shortloop.jobs.exax.patches import (
    keep_line_ends,
    leave_nothing_behind,
    one_at_a_time,
    read_few_jobs_itself,
    take_folders_literally,
)
from shortloop.jobs.exax.permissions import answer_this_user_only, keep_private, private_folder
from shortloop.jobs.exax.preload import import_before_forks
from shortloop.jobs.exax.tracebacks import keep_causes
from shortloop.jobs.exax.watch import watch_jobs
from shortloop.jobs.project import project_directory, running_configuration, runs_jobs
from shortloop.jobs.store.leftovers import mend, own, repair_lists
from shortloop.jobs.store.slices import wanted
from shortloop.text import one_line

__all__ = ["end_quickly", "prepare_any", "prepare_runner", "prepare_server"]


def prepare_any() -> None:
    """In every process of exax that imports a package of methods: what all of them need."""
    take_folders_literally()
    if running_configuration("build") is not None:
        keep_line_ends()


def prepare_server() -> None:
    """Complete the configuration of the exax server that imports the methods package; elsewhere nothing.

    ``slices: -1`` becomes a number. Folders of workdirs are made, and their note of that number, which may
    change from run to run, is brought up to date: what hangs on it is looked after job by job. No other
    server may use the workdirs, and jobs that a power cut broke are taken out of use, as the server would
    not start.
    """
    cfg = running_configuration("server")
    if cfg is None:
        return
    cfg.slices = wanted(cfg.slices)
    workdirs = {name: Path(folder) for name, folder in cfg.workdirs.items()}
    for folder in workdirs.values():
        folder.mkdir(parents=True, exist_ok=True)
    keep_methods_as_loaded()
    do_without_broken_methods()
    one_at_a_time()
    read_few_jobs_itself()
    look_often_for_end()
    load_announced()
    forget_other_slices(cfg.slices)
    own(workdirs)
    answer_this_user_only()
    leave_nothing_behind(private_folder() / "multiprocessing")
    listens = (cfg.listen, cfg.urd_listen if cfg.urd_local else None, cfg.board_listen)
    keep_private(project_directory() / each for each in listens if isinstance(each, str))
    mend(workdirs)
    for line in repair_lists(Path.cwd()):  # too late for this server, but not for the next
        print(one_line(f"{line}; start the server again"), flush=True)
    for folder in workdirs.values():
        (folder / ".slices").write_text(f"{cfg.slices}\n", encoding="utf-8")


def prepare_runner() -> None:
    """In the process that loads methods and forks jobs: what these need; elsewhere nothing.

    It imports what jobs to come need, has them die with it, and lets them read no part for the whole.
    """
    if runs_jobs():
        load_from_source()
        watch_imports()
        keep_line_ends()
        keep_output_in_one_process()
        note_what_is_read()
        find_announced()
        forks_end_with_this()
        see_ends()
        name_lost_units()
        keep_causes()
        let_no_method_end_this()
        leave_pipe_of_job()
        import_before_forks()
        import_methods_apart()
        watch_jobs()
        refuse_other_slices()


def end_quickly() -> None:
    """Let this process end without a search of its memory for what could be freed: a script that builds
    nothing would take a tenth longer."""
    atexit.register(gc.freeze)
