"""Opening all recordings of a study without a run: import and check as the pipeline asks for them, with
every problem of every participant; nothing is kept."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from errno import EACCES
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from shortloop.cli.analyses import Opened
from shortloop.eeg import pipeline
from shortloop.eeg.formats.base import (
    FilesInput,
    GeneratedInput,
    InputSettings,
    RecordedInput,
)
from shortloop.eeg.formats.base_features import FeaturesInput
from shortloop.eeg.formats.repeated import refuse_repeated
from shortloop.eeg.looking.at_once import Tell, at_once
from shortloop.eeg.looking.recorded import look_at
from shortloop.eeg.looking.warm import warm_up
from shortloop.eeg.stages.check import CheckRecordings
from shortloop.eeg.stages.import_epochs import ImportEpochs
from shortloop.eeg.stages.import_features import ImportFeatures
from shortloop.eeg.study.load import read_study
from shortloop.errors import InputError
from shortloop.extras import need
from shortloop.jobs.keys.hashing import hash_files
from shortloop.jobs.pipeline import Built, Run
from shortloop.jobs.system_errors import unreadable
from shortloop.study_run import StudyRun
from shortloop.worker.stage import File, Outputs, Stage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

    from shortloop.eeg.study.schema import Study

__all__ = ["open_all"]

Facts = dict[str, Any]
Recordings = dict[str, list[Facts]]
NOTES = 20  # that are shown
OF_THE_STUDY = ("features", "decoding")  # what fields begin with that are none of a recording


def open_all(file: Path, tell: Tell) -> Opened:
    """Open all recordings of a study.

    Parameters
    ----------
    file : Path
        The study file.
    tell : callable
        Is told how many recordings were opened.

    Returns
    -------
    Opened
        With all that the stages of the import and the check find.

    Raises
    ------
    InputError
        If the file is wrong, or a library is missing.
    """
    file = Path(os.path.abspath(file))
    study = read_study(file)
    if isinstance(study.input, GeneratedInput):
        return Opened("its recordings are simulated: there are none to open")
    need(pipeline.KIND.extra, pipeline.LIBRARIES)
    problems: list[InputError] = []
    tasks = [one for who in study.participants for one in _asked(_only(study, who), file, problems)]
    tasks = [part for one in tasks for part in _readable(one, problems)]
    _refuse_repeated(tasks, problems, isinstance(study.input, FeaturesInput) and study.input.is_of_all())
    warm_up(study.input)
    imported: dict[str, list[Facts]] = defaultdict(list)
    notes: list[str] = []
    for task, (facts, wrong) in zip(tasks, at_once(_import, tasks, tell), strict=True):
        problems += wrong
        for each in facts:
            imported[task.partition or ""] += each["recordings"]
            notes += each.get("notes", [])
    notes += _together(study, file, imported, problems)
    more = [f"… and {len(notes) - NOTES} notes more"] * (len(notes) > NOTES)
    return Opened(_said(imported), tuple(_joined(problems)), (*dict.fromkeys(notes[:NOTES]), *more))


def _said(imported: Mapping[str, list[Facts]]) -> str:
    trials: Counter[str] = Counter()
    for every in imported.values():
        # Kinds of features are of the same trials.
        for of_phase in {each["phase"]: each["trials"] for each in every}.values():
            trials.update(of_phase)
    counted = ", ".join(f"{number:,} × {name}" for name, number in trials.items())
    people = f"{len(imported):,} participant{'' if len(imported) == 1 else 's'}"
    return (
        f"recordings of {people} were read, with trials: {counted}" if imported else "nothing could be read"
    )


@dataclass(frozen=True)
class _Asked:
    """A job that a pipeline has asked for."""

    stage: str
    partition: str | None
    fields: Mapping[str, Any]

    def of_phases(self) -> list[_Asked]:
        """One for each phase, so that a problem of one hides none of another."""
        parts = self.fields.get("phases") or list(self.fields["files"])
        return [_Asked(self.stage, self.partition, {**self.fields, **self._only(phase)}) for phase in parts]

    def _only(self, phase: str) -> Mapping[str, Any]:
        if "phases" in self.fields:
            return {"phases": [phase], "recordings": {phase: self.fields["recordings"][phase]}}
        return {"files": {phase: self.fields["files"][phase]}}


@dataclass
class _Run:
    """In place of a run: notes what is asked for."""

    name: str = ""
    jobs: list[Built] = field(default_factory=list)
    asked: list[_Asked] = field(default_factory=list)

    def files(self, paths: Sequence[Path]) -> list[File]:
        return [File("", path) for path in paths]

    def build(
        self, stage: str, *, partition: str | None = None, modules: Sequence[str] = (), **fields: Any
    ) -> Built:
        self.asked.append(_Asked(stage, partition, fields))
        return Built("", stage, partition)


class _Nowhere(Outputs):
    """Outputs of a stage that nobody keeps."""

    def create(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        import numpy as np

        return np.empty(shape, dtype)


def _ask(study: Study, file: Path, what: Callable[[pipeline.StudyRun], object]) -> list[_Asked]:
    run = _Run()
    what(StudyRun(cast("Run", run), study, file))
    return run.asked


def _imports(run: pipeline.StudyRun) -> None:
    """The jobs of the import, as the build script asks for them."""
    if isinstance(run.study.input, FeaturesInput):
        for kind in run.study.features.kinds:
            pipeline.import_features(run, kind)
    else:
        pipeline.import_epochs(run)


def _only(study: Study, participant: str) -> Study:
    return study.model_copy(update={"participants": (participant,)})


def _asked(study: Study, file: Path, problems: list[InputError]) -> list[_Asked]:
    """The import of a participant; if files are missing, of phases and features whose files are there."""
    try:
        return _ask(study, file, _imports)
    except InputError as error:
        first = error
    asked, wrong = [], []
    for part in _parts(study):
        try:
            asked += _ask(part, file, _imports)
        except InputError as error:
            wrong += _missing(part, file) or [error]
    problems += wrong or [first]
    return asked


def _parts(study: Study) -> list[Study]:
    """The same for each phase, and each kind of ready-made features, alone."""
    kinds = study.features.kinds if isinstance(study.input, FeaturesInput) else {"": None}
    return [
        study.model_copy(
            update={
                "phases": study.phases.model_copy(update={"train": phase, "decode": None}),
                "features": study.features.model_copy(
                    update={other: None for other in kinds if other != kind}
                ),
            }
        )
        for kind in kinds
        for phase in (study.phases.names if kind == "" else pipeline.phases_of(study, kind))
    ]


def _missing(study: Study, file: Path) -> list[InputError]:
    """What is wrong with each of several names of files of one phase."""
    phase = study.phases.train
    if not isinstance(study.input, FilesInput):
        return []
    wrong = []
    for pattern in study.input.files[phase]:
        alone = study.input.model_copy(update={"files": {phase: (pattern,)}})
        try:
            _ask(study.model_copy(update={"input": alone}), file, _imports)
        except InputError as error:
            wrong.append(error)
    return wrong


def _readable(asked: _Asked, problems: list[InputError]) -> list[_Asked]:
    """An import without the phases of which a file may not be read."""

    def locked(one: _Asked) -> list[Path]:
        return [path for path in _paths(one.fields) if not os.access(path, os.R_OK)]

    for path in dict.fromkeys(locked(asked)):
        error = unreadable(PermissionError(EACCES, os.strerror(EACCES), str(path)), "a file")
        error.where = {"participant": asked.partition}
        problems.append(error)
    return [asked] if not locked(asked) else [one for one in asked.of_phases() if not locked(one)]


def _paths(value: object) -> list[Path]:
    """Files that are anywhere in the fields of a stage."""
    if isinstance(value, File):
        return [value.path]
    inside = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    )
    return [path for each in inside for path in _paths(each)]


def _refuse_repeated(asked: Sequence[_Asked], problems: list[InputError], of_all: bool) -> None:
    """Find recordings that are there twice."""
    named = [one for each in asked for one in _named(each)]
    contents = _contents(Counter(path for _, path in {(who, path) for _, who, _, path in named}))
    found: dict[str, pipeline.Files] = {}
    for field_, who, phase, path in named:
        phases = found.setdefault(field_, {}).setdefault(who, {})
        phases.setdefault(phase, []).append(File(contents.get(path, ""), path))
    for field_, files in found.items():
        refuse_repeated(files, field_, problems.append, of_all)


def _named(asked: _Asked) -> Iterator[tuple[str, str, str, Path]]:
    """Files with samples: the field that names each, whose and of which phase it is, and the file."""
    who, fields = asked.partition or "", asked.fields
    if "recordings" in fields:
        (phases,) = pipeline.samples_of({who: fields["recordings"]}).values()
        for phase, files in phases.items():
            yield from (("input.files", who, phase, file.path) for file in files)
    else:
        for phase, (file, *_) in fields["files"].items():
            yield f"input.{fields['kind']}", who, phase, file.path


def _contents(paths: Mapping[Path, int]) -> dict[Path, str]:
    """Hashes of files that several participants have, or that are as large as another one: no others can be
    the same."""
    sizes = {path: path.stat().st_size for path in paths}
    counts: Counter[int] = Counter()
    for path, people in paths.items():
        counts[sizes[path]] += people
    return dict(hash_files({path: size for path, size in sizes.items() if counts[size] > 1}))


def _import(asked: _Asked) -> tuple[list[Facts], list[InputError]]:
    """What an import would leave of the phases that are fine, without its arrays, and what is wrong."""
    try:
        return [_imported(asked)], []
    except InputError as error:
        first = error
    facts, problems = [], []
    for phase in asked.of_phases():
        try:
            facts.append(_imported(phase))
        except InputError as error:
            problems += _of_files(phase, error)
    return facts, problems or [first]  # each is fine, but not all together


def _of_files(asked: _Asked, first: InputError) -> list[InputError]:
    """What is wrong with each recording of a phase, of which only the first problem was said."""
    recordings = [one for every in asked.fields.get("recordings", {}).values() for one in every]
    if len(recordings) < 2:
        return [first]
    settings, who = InputSettings.to_read(asked.fields["settings"]), asked.partition or ""
    assert isinstance(settings, RecordedInput)
    seen = [look_at(settings, [(name, file.path) for name, file in one], who) for one in recordings]
    # That one has no events may be as it should be: the phase is of all of them.
    wrong = [each for each in seen if isinstance(each, InputError) and each.field != "input.event_source"]
    same = {(each.problem, each.file) for each in wrong}
    return wrong if (first.problem, first.file) in same else [first, *wrong]


def _imported(asked: _Asked) -> Facts:
    stage: Stage
    fields = dict(asked.fields)
    if asked.stage == "import_epochs":
        stage = ImportEpochs()
    else:
        stage = ImportFeatures()
        fields["settings"] = InputSettings.to_read(fields["settings"])
    return dict(_with(stage, fields, asked.partition).finish(_Nowhere({})).facts)


def _with(stage: Stage, fields: Mapping[str, Any], partition: str | None = None) -> Stage:
    stage.partition = partition
    for name, value in fields.items():
        setattr(stage, name, value)
    return stage


def _together(
    study: Study, file: Path, imported: Mapping[str, list[Facts]], problems: list[InputError]
) -> list[str]:
    """Find what only shows when recordings are compared, and what is odd about them, but no problem."""
    if not imported:
        return []
    (asked,) = _ask(study, file, lambda run: pipeline.check_recordings(run, []))
    jobs = [SimpleNamespace(facts={"recordings": recordings}) for recordings in imported.values()]
    stage = cast("CheckRecordings", _with(CheckRecordings(), {**asked.fields, "imported": jobs}))
    return cast("list[str]", stage.compare(problems.append)["notes"])


def _joined(problems: Sequence[InputError]) -> list[InputError]:
    """One problem for all participants of whom the same is said, in the same file or of the same settings."""
    same: dict[tuple[object, ...], list[InputError]] = {}
    for each in problems:
        file = None if (each.field or "").startswith(OF_THE_STUDY) else each.file
        said = (each.problem, file, each.field, str(each.found), str(each.expected), each.hint)
        same.setdefault(said, []).append(each)
    for several in same.values():
        names = dict.fromkeys(each.where.get("participant") or "" for each in several)
        files = {each.file for each in several}
        first = several[0]
        first.where = {**first.where, "participant": ", ".join(filter(None, names)) or None}
        first.file = first.file if len(files) == 1 else None
    return [several[0] for several in same.values()]
