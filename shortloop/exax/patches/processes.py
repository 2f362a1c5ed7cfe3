"""Prepare the server, and the process that forks jobs, when they start."""

from __future__ import annotations

import atexit
import gc
from pathlib import Path

from shortloop.base.text import one_line
from shortloop.exax.patches.small_fixes import keep_line_ends, refuse_unknown_version, take_folders_literally
from shortloop.project.project import project_directory, running_configuration, runs_jobs

__all__ = ["end_quickly", "prepare_any", "prepare_runner", "prepare_server"]

GARBAGE = 100_000
"""Objects that a run makes between searches of its memory: with 700, these are a tenth of a short run."""


def prepare_any() -> None:
    """In every process of exax that imports a package of methods: what all of them need."""
    take_folders_literally()
    if running_configuration("build") is not None:
        gc.set_threshold(GARBAGE)
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
    refuse_unknown_version()
    from shortloop.exax.datasets import forget_other_slices
    from shortloop.exax.notebook_methods import load_announced
    from shortloop.exax.patches.broken_methods import do_without_broken_methods
    from shortloop.exax.patches.job_ends import look_often_for_end
    from shortloop.exax.patches.parallel_jobs import build_side_by_side
    from shortloop.exax.patches.permissions import answer_this_user_only, keep_private, private_folder
    from shortloop.exax.patches.reloading import keep_methods_as_loaded
    from shortloop.exax.patches.small_fixes import leave_nothing_behind, one_at_a_time, read_few_jobs_itself
    from shortloop.exax.patches.spare_processes import reap_later
    from shortloop.store.crash_repair import mend, own, repair_lists
    from shortloop.store.setup import wanted

    cfg.slices = wanted(cfg.slices)
    workdirs = {name: Path(folder) for name, folder in cfg.workdirs.items()}
    # A new folder in the project may be a package: the first results would have methods loaded anew.
    for folder in (*workdirs.values(), Path(cfg.result_directory)):
        folder.mkdir(parents=True, exist_ok=True)
    keep_methods_as_loaded()
    do_without_broken_methods()
    build_side_by_side()
    one_at_a_time()
    read_few_jobs_itself()
    look_often_for_end()
    reap_later()
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
    if not runs_jobs():
        return
    refuse_unknown_version()
    from shortloop.exax.cost import note_costs
    from shortloop.exax.datasets import refuse_other_slices
    from shortloop.exax.libraries import watch_imports
    from shortloop.exax.notebook_methods import find_announced
    from shortloop.exax.patches.broken_methods import let_no_method_end_this
    from shortloop.exax.patches.isolation import import_methods_apart
    from shortloop.exax.patches.job_ends import leave_pipe_of_job, name_lost_units, see_ends
    from shortloop.exax.patches.job_output import keep_output_in_one_process
    from shortloop.exax.patches.loading import load_from_source
    from shortloop.exax.patches.preload import import_before_forks
    from shortloop.exax.patches.reloading import note_what_is_read
    from shortloop.exax.patches.spare_processes import keep_spares, leave_early
    from shortloop.exax.patches.watch import watch_jobs
    from shortloop.exax.tracebacks import keep_causes
    from shortloop.units.parent_death import forks_end_with_this

    load_from_source()
    watch_imports()
    keep_line_ends()
    keep_output_in_one_process()
    note_what_is_read()
    find_announced()
    forks_end_with_this()
    spares = keep_spares()
    see_ends(spares)
    name_lost_units()
    note_costs()
    keep_causes()
    let_no_method_end_this()
    leave_pipe_of_job()
    leave_early()
    import_before_forks()
    import_methods_apart()
    watch_jobs(spares)
    refuse_other_slices()


def end_quickly() -> None:
    """Let this process end without a search of its memory for what could be freed: a script that builds
    nothing would take a tenth longer."""
    atexit.register(gc.freeze)
