"""The door of a pipeline: files are found and hashed, imported, and checked against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shortloop.eeg.formats.consistency import check_alike, check_trials
from shortloop.eeg.formats.files import find_files
from shortloop.eeg.formats.summary import RecordingSummary
from shortloop.eeg.study.decoding import LinearSvmSettings
from shortloop.eeg.study.inputs import SimulatedInput, ThesisInput
from shortloop.eeg.study.load import data_folder
from shortloop.errors import InputError
from shortloop.jobs.executor import Built, Plan, Run
from shortloop.jobs.store.inputs import known_content, register

__all__ = ["check_recordings", "import_epochs", "import_features"]


def import_epochs(run: Plan) -> dict[str, Built]:
    """Epochs of each participant.

    Parameters
    ----------
    run : Plan or Run
        The run.

    Returns
    -------
    dict of str to Built
        A job for each participant.

    Raises
    ------
    InputError
        If a file is missing, or what it holds is not as it must be.
    """
    study = run.study
    simulated = isinstance(study.input, SimulatedInput)
    files: dict[str, dict[str, list[Path]]] = {name: {} for name in study.participants}
    if not isinstance(study.input, SimulatedInput | ThesisInput):
        folder = data_folder(study.input.folder, run.study_file)
        for name in study.participants:
            for phase in study.phases.names:
                patterns = study.input.files[phase]
                files[name][phase] = find_files(folder, patterns, participant=name, phase=phase)
    contents = _contents(run, files)
    return {
        name: run.build(
            "import_epochs",
            name,
            options={
                "settings": study.input.model_dump(mode="json", exclude={"folder", "files"}),
                "files": contents[name],
                "phases": list(study.phases.names),
                "classes": list(study.classes),
                "seed": study.seed if simulated else 0,
            },
        )
        for name in study.participants
    }


def import_features(run: Plan, kind: str) -> dict[str, Built]:
    """Ready-made features of one kind of each participant.

    Parameters
    ----------
    run : Plan or Run
        The run.
    kind : str
        ``"amplitude"`` or ``"power"``.

    Returns
    -------
    dict of str to Built
        A job for each participant.

    Raises
    ------
    InputError
        As `import_epochs`, and if no file is named for a phase that is asked for.
    """
    study = run.study
    assert isinstance(study.input, ThesisInput)
    folder = data_folder(study.input.folder, run.study_file)
    phases = study.phases.names if study.features.kinds[kind].apply else study.phases.names[:1]
    patterns = getattr(study.input, kind)
    for phase in phases:
        if phase not in patterns:
            raise InputError(
                "the study file lacks the file of a phase",
                file=run.study_file,
                field=f"input.{kind}.{phase}",
                hint=f"add it, or say `apply = false` in [features.{kind}]",
            )
    files = {
        name: {
            phase: find_files(folder, [patterns[phase]], participant=name, phase=phase) for phase in phases
        }
        for name in study.participants
    }
    contents = _contents(run, files)
    return {
        name: run.build(
            "import_features",
            name,
            options={
                "kind": kind,
                "files": {phase: found[0] for phase, found in contents[name].items()},
                "classes": list(study.classes),
            },
        )
        for name in study.participants
    }


def check_recordings(run: Plan, imported: Sequence[Built]) -> None:
    """Check what only shows when all recordings are seen together, or with the settings of later stages.

    Parameters
    ----------
    run : Plan or Run
        The run; nothing is checked in a plan, which has no recordings yet.
    imported : sequence of Built
        Jobs of the import stages.

    Raises
    ------
    InputError
        If recordings differ, or have too few trials for the folds or too few samples for the bins.
    """
    if run.planning:
        return
    study = run.study
    summaries = [
        RecordingSummary.from_dict(summary)
        for job in imported
        for summary in job.result().facts["recordings"]
    ]
    check_alike(summaries)
    check_trials(
        [summary for summary in summaries if summary.phase == study.phases.train],
        folds=study.decoding.folds,
        inner_folds=study.estimator.inner_folds if isinstance(study.estimator, LinearSvmSettings) else None,
    )
    for summary in summaries:
        if summary.kind == "epochs":
            from shortloop.eeg.features.bins import check_bins_fit

            for kind, settings in study.features.kinds.items():
                check_bins_fit(
                    kind,
                    settings,
                    tmin=summary.tmin,
                    sfreq=summary.sfreq,
                    samples=summary.samples,
                    participant=summary.participant,
                    file=summary.file or None,
                )


def _contents(run: Plan, files: dict[str, dict[str, list[Path]]]) -> dict[str, dict[str, list[str]]]:
    """Content of the files of each participant and phase."""
    everything = [file for phases in files.values() for found in phases.values() for file in found]
    if isinstance(run, Run):
        found = register(everything, run.progress.reading)
    else:  # in a plan files are found, and not read
        found = [""] * len(everything) if run.store is None else known_content(everything)
        run.unread += found.count("")
    hashes = iter(found)
    return {
        name: {phase: [next(hashes) for _ in each] for phase, each in phases.items()}
        for name, phases in files.items()
    }
