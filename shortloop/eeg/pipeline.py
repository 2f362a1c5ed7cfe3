"""Functions for build scripts of EEG studies: reading the study, importing and checking its recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shortloop import study_run
from shortloop.base.errors import InputError
from shortloop.base.extras import REPORT_LIBRARIES
from shortloop.base.text import one_line
from shortloop.eeg.checks.consistency import refuse_repeated
from shortloop.eeg.formats.files.find import Named, find_files, recording_of
from shortloop.eeg.formats.recording_format import FeaturesInput, GeneratedInput, RecordedInput
from shortloop.eeg.study.load import DEFAULT_STUDY, data_folder, read_study
from shortloop.eeg.study.schema import Study
from shortloop.plan.pipeline import Built
from shortloop.stages.inputs import File

Files = dict[str, dict[str, list[File]]]
Recordings = dict[str, dict[str, list[list[tuple[str, File]]]]]
LIBRARIES = (  # import names of the libraries that the extra `eeg` installs
    *("h5py", "mne", "mne_bids", "numba", "pandas", "pymatreader", "scipy", "sklearn"),
    *REPORT_LIBRARIES,
)
KIND = study_run.StudyKind("study", DEFAULT_STUDY, "eeg", LIBRARIES, read_study)
run_study = KIND.run
StudyRun = study_run.StudyRun["Study"]


def has_features(study: Study) -> bool:
    """True if the files of a study hold features that were computed elsewhere."""
    return isinstance(study.input, FeaturesInput)


def import_epochs(run: StudyRun) -> dict[str, Built]:
    """Epochs of each participant."""
    study = run.study
    named: dict[str, dict[str, list[Named]]] = {name: {} for name in study.participants}
    if isinstance(study.input, RecordedInput):
        folder = data_folder(study.input.folder, run.file)
        for name in study.participants:
            for phase in study.phases.names:
                found = study.input.find(folder, name, phase)
                named[name][phase] = [study.input.together(file) for file in found]
    recordings = _read(run, named)
    refuse_repeated(samples_of(recordings), "input.files")
    return {
        name: run.build(
            "import_epochs",
            partition=name,
            settings=study.input.how_to_read(name),
            recordings=recordings[name],
            phases=list(study.phases.names),
            classes=list(study.classes),
            seed=study.seed if isinstance(study.input, GeneratedInput) else 0,
            modules=study.input.modules(),
        )
        for name in study.participants
    }


def import_features(run: StudyRun, kind: str) -> dict[str, Built]:
    """Ready-made features of each participant."""
    study = run.study
    assert isinstance(study.input, FeaturesInput)
    phases = phases_of(study, kind)
    patterns = study.input.files_of(kind)
    for phase in phases:
        if phase not in patterns:
            problem = "the study file lacks the file of a phase"
            hint = f"add it, or say `apply = false` in [features.{kind}]"
            raise InputError(problem, file=run.file, field=f"input.{kind}.{phase}", hint=hint)
    files = _one_file_each(run, {phase: patterns[phase] for phase in phases}, f"input.{kind}")
    of_labels = study.input.files_of_labels()
    labelled = {phase: of_labels[phase] for phase in phases if phase in of_labels}
    labels = _one_file_each(run, labelled, "input.labels")
    refuse_repeated(files, f"input.{kind}", of_all=study.input.holds_several())
    return {
        name: run.build(
            "import_features",
            partition=name,
            settings=study.input.how_to_read(name),
            kind=kind,
            files={phase: [*found, *labels[name].get(phase, ())] for phase, found in files[name].items()},
            classes=list(study.classes),
            modules=study.input.modules(),
        )
        for name in study.participants
    }


def phases_of(study: Study, kind: str) -> list[str]:
    """Phases that need features of a kind."""
    return list(study.phases.names if study.features.kinds[kind].apply else study.phases.names[:1])


def names_of(imported: Sequence[Built]) -> dict[str, list[str]]:
    """Current names of files; reused jobs may know former ones."""
    names: dict[str, list[str]] = {}
    for job in imported:
        if job.files:
            names.setdefault(job.partition or "", []).extend(map(one_line, job.files))
    return names


def subsampled(run: StudyRun, features: dict[str, dict[str, Built]]) -> dict[str, dict[str, Built]]:
    """Features subsampled to as many trials of each class, if the study asks for it."""
    study = run.study
    if not study.decoding.subsample:
        return features

    def drawn(kind: str, who: str, made: Built) -> Built:
        asked = phases_of(study, kind)
        return run.build("subsample", partition=who, kind=kind, phases=asked, seed=study.seed, features=made)

    return {kind: {who: drawn(kind, who, job) for who, job in of.items()} for kind, of in features.items()}


def check_recordings(run: StudyRun, imported: list[Built]) -> Built:
    """Check all recordings together, and with the settings of later stages."""
    study, decoding = run.study, run.study.decoding
    weighed = decoding.class_weight or getattr(study.estimator, "params", {}).get("class_weight")
    # Classifiers that call most trials the largest class would hide an effect.
    return run.build(
        "check",
        phase=study.phases.train,
        folds=decoding.folds,
        fold_by=decoding.fold_by,
        inner_folds=study.estimator.nested_folds,
        features=study.features,
        uneven=not (decoding.score == "auc" or decoding.subsample or weighed),
        imported=imported,
    )


def samples_of(recordings: Recordings) -> Files:
    """The largest file of each recording, which holds its samples."""

    def largest(recording: list[tuple[str, File]]) -> File:
        return max((file for _, file in recording), key=lambda file: file.path.stat().st_size)

    return {
        name: {phase: [*map(largest, found)] for phase, found in phases.items()}
        for name, phases in recordings.items()
    }


def _one_file_each(run: StudyRun, patterns: Mapping[str, str], field: str) -> Files:
    """The file of each participant and phase, by the pattern of the phase."""
    assert isinstance(run.study.input, FeaturesInput)
    folder = data_folder(run.study.input.folder, run.file)
    named: dict[str, dict[str, list[Named]]] = {name: {} for name in run.study.participants}
    for name in run.study.participants:
        for phase, pattern in patterns.items():
            at = f"{field}.{phase}"
            found = find_files(folder, [pattern], participant=name, field=at)
            if len(found) > 1:
                problem = "several files match the pattern, and features of a phase are one file"
                file = folder / pattern
                what = ", ".join(path.name for path in found)
                hint = "name the one that is meant"
                raise InputError(problem, participant=name, file=file, field=at, found=what, hint=hint)
            named[name][phase] = [[("", path)] for path in found]
    return samples_of(_read(run, named))


def _read(run: StudyRun, named: dict[str, dict[str, list[Named]]]) -> Recordings:
    """The recordings of each participant and phase, each of one or several files; all are read at once."""
    every = [one for phases in named.values() for found in phases.values() for one in found]
    # Stages use the name of a recording, a file or a folder, but no folder above it.
    files = (
        replace(file, name=str(file.path.relative_to(recording_of(file.path).parent)))
        for file in run.files([path for one in every for _, path in one])
    )
    read = iter([[(name, next(files)) for name, _ in one] for one in every])
    return {
        name: {phase: [next(read) for _ in found] for phase, found in phases.items()}
        for name, phases in named.items()
    }
