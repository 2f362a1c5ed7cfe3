"""Find all problems of the recordings of a study without a run; nothing is kept."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from shortloop.analyses import Opened, Tell
from shortloop.base.errors import InputError
from shortloop.base.extras import need
from shortloop.base.text import counted
from shortloop.eeg import pipeline
from shortloop.eeg.checks.consistency import refuse_repeated
from shortloop.eeg.formats.recording_format import FeaturesInput, FilesInput, GeneratedInput, RecordedInput
from shortloop.eeg.inspect.recording import parallel_map, read_recording, warm_up
from shortloop.eeg.stages.check import CheckRecordings
from shortloop.eeg.stages.import_epochs import ImportEpochs
from shortloop.eeg.stages.import_features import ImportFeatures
from shortloop.eeg.study.load import read_study
from shortloop.eeg.study.schema import Study
from shortloop.keys.hashing import hash_files
from shortloop.plan.pipeline import Built, Call, Run
from shortloop.stages.stage import File, Outputs
from shortloop.study_run import StudyRun

Facts = dict[str, Any]
Imported = Mapping[str, list[Facts]]
Import = ImportEpochs | ImportFeatures
STAGES = {"import_epochs": ImportEpochs, "import_features": ImportFeatures, "check": CheckRecordings}
NOTES = 20  # that are shown
OF_THE_STUDY = ("features", "decoding")  # beginnings of fields that are of no recording


def open_all(file: Path, tell: Tell) -> Opened:
    file = Path(os.path.abspath(file))
    study = read_study(file)
    if isinstance(study.input, GeneratedInput):
        return Opened("its recordings are simulated: there are none to open")
    need(pipeline.KIND.extra, pipeline.LIBRARIES)
    problems: list[InputError] = []
    alone = (study.model_copy(update={"participants": (who,)}) for who in study.participants)
    jobs = [job for each in alone for job in _imports_of(each, file, problems)]
    _find_repeated(jobs, problems, isinstance(study.input, FeaturesInput) and study.input.holds_several())
    warm_up(study.input)
    imported: dict[str, list[Facts]] = defaultdict(list)
    notes: list[str] = []
    for job, (facts, wrong) in zip(jobs, parallel_map(_import, jobs, tell), strict=True):
        problems += wrong
        for each in facts:
            imported[str(job.partition)] += each["recordings"]
            notes += each.get("notes", [])
    notes += _compare(study, file, imported, problems)
    more = [f"… and {len(notes) - NOTES} notes more"] * (len(notes) > NOTES)
    return Opened(_summary(imported), tuple(_join_same(problems)), (*dict.fromkeys(notes[:NOTES]), *more))


def _summary(imported: Imported) -> str:
    if not imported:
        return "nothing could be read"
    trials: Counter[str] = Counter()
    for every in imported.values():  # kinds of features are of the same trials
        for of_phase in {each["phase"]: each["trials"] for each in every}.values():
            trials.update(of_phase)
    counts = ", ".join(f"{number:,} × {name}" for name, number in trials.items())
    return f"recordings of {counted(len(imported), 'participant')} were read, with trials: {counts}"


class _Recorder(Run):
    """A run that builds nothing and records the stages that are asked for, with their fields."""

    def __init__(self) -> None:
        super().__init__("")
        self.asked: list[Any] = []

    def files(self, paths: Sequence[Path]) -> list[File]:
        return [File("", path) for path in paths]

    def ask(self, stage: str, partition: str | None, call: Call) -> Built:
        asked: Any = STAGES[stage]()
        vars(asked).update(call.arguments, partition=partition or "")
        if stage == "import_features":
            asked.settings = FeaturesInput.to_read(asked.settings)
        self.asked.append(asked)
        return Built("", stage, partition)


class _InMemory(Outputs):
    def create(self, name: str, shape: tuple[int, ...], dtype: np.typing.DTypeLike) -> np.ndarray:
        return np.empty(shape, dtype)


def _imports_of(study: Study, file: Path, problems: list[InputError], depth: int = 0) -> list[Import]:
    """Return the import of a participant; if files are missing, of phases and features that have files."""
    recorder = _Recorder()
    run = StudyRun(recorder, study, file)
    try:
        if isinstance(study.input, FeaturesInput):
            for kind in study.features.kinds:
                pipeline.import_features(run, kind=kind)
        else:
            pipeline.import_epochs(run)
        return recorder.asked
    except InputError as error:
        known = len(problems)
        parts = (_parts(study), _of_one_file(study), ())[depth]
        found = [_imports_of(part, file, problems, depth + 1) for part in parts]
        problems += [error] * (len(problems) == known)  # unless its parts say more
        return [] if depth else [job for jobs in found for job in jobs]


def _parts(study: Study) -> Iterator[Study]:
    """Reduce a study to each phase, and each kind of ready-made features."""
    kinds = study.features.kinds if isinstance(study.input, FeaturesInput) else {"": None}
    for kind in kinds:
        features = study.features.model_copy(update={other: None for other in kinds if other != kind})
        for phase in pipeline.phases_of(study, kind) if kind else study.phases.names:
            phases = study.phases.model_copy(update={"train": phase, "decode": None})
            yield study.model_copy(update={"phases": phases, "features": features})


def _of_one_file(study: Study) -> Iterator[Study]:
    """Reduce a study of one phase to each name of a file."""
    if isinstance(study.input, FilesInput):
        phase = study.phases.train
        for pattern in study.input.files[phase]:
            alone = study.input.model_copy(update={"files": {phase: (pattern,)}})
            yield study.model_copy(update={"input": alone})


def _find_repeated(jobs: Sequence[Import], problems: list[InputError], of_all: bool) -> None:
    """Find recordings that are there twice, by the content of files that are of one size."""
    named = [one for job in jobs for one in _files_of(job) if os.access(one[-1], os.R_OK)]
    pairs = {(who, path) for _, who, _, path in named}
    sizes = {path: path.stat().st_size for _, path in pairs}
    same = Counter(sizes[path] for _, path in pairs)
    contents = dict(hash_files({path: size for path, size in sizes.items() if same[size] > 1}))
    found: dict[str, pipeline.Files] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for name, who, phase, path in named:
        found[name][who][phase].append(File(contents.get(path, ""), path))
    for name, files in found.items():
        refuse_repeated(files, name, problems.append, of_all)


def _files_of(job: Import) -> Iterator[tuple[str, str, str, Path]]:
    """Return field, participant, phase and path of each file with samples."""
    who = str(job.partition)
    if isinstance(job, ImportEpochs):
        for phase, files in pipeline.samples_of({who: job.recordings})[who].items():
            yield from (("input.files", who, phase, file.path) for file in files)
    else:
        for phase, (file, *_) in job.files.items():
            yield f"input.{job.kind}", who, phase, file.path


def _import(job: Import) -> tuple[list[Facts], list[InputError]]:
    """Import the phases without problems; return the facts, and the problems of the others."""
    try:
        return [_facts(job)], []
    except InputError as error:
        first = error
    facts, problems = [], []
    for phase in _phases_of(job):
        try:
            facts.append(_facts(phase))
        except InputError as error:
            problems += _problems_of_files(phase, error)
    return facts, problems or [first]  # each phase is fine, but not all together


def _phases_of(job: Import) -> Iterator[Import]:
    """Divide a job among its phases, so that a problem of one hides none of another."""
    field = "recordings" if isinstance(job, ImportEpochs) else "files"
    for phase, files in vars(job)[field].items():
        alone = copy(job)
        vars(alone).update({field: {phase: files}, "phases": [phase]})
        yield alone


def _problems_of_files(job: Import, first: InputError) -> list[InputError]:
    """Return the problems of all recordings of a phase, of which the first is known."""
    if not isinstance(job, ImportEpochs) or sum(map(len, job.recordings.values())) < 2:
        return [first]
    settings = RecordedInput.to_read(job.settings)
    (recordings,) = job.recordings.values()
    named = [[(name, file.path) for name, file in one] for one in recordings]
    read = [read_recording(settings, each, str(job.partition)) for each in named]
    # One recording without events may be right, as the phase is of all of them.
    wrong = [each for each in read if isinstance(each, InputError) and each.field != "input.event_source"]
    known = any((each.problem, each.file) == (first.problem, first.file) for each in wrong)
    return wrong if known else [first, *wrong]


def _facts(job: Import) -> Facts:
    return dict(job.finish(_InMemory({})).facts)


def _compare(study: Study, file: Path, imported: Imported, problems: list[InputError]) -> list[str]:
    """Find differences between recordings; return notes about what is odd, but no problem."""
    if not imported:
        return []
    recorder = _Recorder()
    pipeline.check_recordings(StudyRun(recorder, study, file), [])
    (check,) = recorder.asked
    check.imported = [SimpleNamespace(facts={"recordings": recordings}) for recordings in imported.values()]
    return cast("list[str]", check.compare(problems.append)["notes"])


def _join_same(problems: Sequence[InputError]) -> list[InputError]:
    """Join problems that only differ in the participant or, if of the study's settings, in the file."""
    same: dict[tuple[object, ...], list[InputError]] = defaultdict(list)
    for each in problems:
        file = None if (each.field or "").startswith(OF_THE_STUDY) else each.file
        same[each.problem, file, each.field, str(each.found), str(each.expected), each.hint].append(each)
    for first, *others in same.values():
        names = dict.fromkeys(each.where.get("participant") or "" for each in (first, *others))
        first.where = {**first.where, "participant": ", ".join(filter(None, names)) or None}
        first.file = first.file if all(each.file == first.file for each in others) else None
    return [first for first, *_ in same.values()]
