"""Common tests of estimators and formats, for packages that add some: call them in a test of your own."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.formats.recording_format import FeaturesInput, GeneratedInput, InputSettings, RecordedInput
from shortloop.keys.closure import closure_of
from shortloop.settings.base import Tagged

if TYPE_CHECKING:
    import numpy as np

    from shortloop.eeg.data import Epochs

HEAVY = {"numba", "numpy", "mne", "pandas", "scipy", "sklearn"}
CITED = re.compile(r"[(;] ?([A-Z][^();]*, \d{4})")
UNFIT = re.compile(r"None|\{|\}|  |\.\.|\bnan\b|\bTrue\b|\bFalse\b|\.$|^$")


def check_estimator(settings: Mapping[str, Any]) -> None:
    """Run the common tests over an estimator.

    Parameters
    ----------
    settings : Mapping of str to Any
        Its table in a study file, e.g. ``{"kind": "nearest", "power": 2.0}``.

    Raises
    ------
    AssertionError
        If a stage that trains it, its key, or the report would go wrong. Each of ``ESTIMATOR_CHECKS`` is
        one of the tests, and takes the same settings.
    """
    for check in ESTIMATOR_CHECKS:
        check(settings)


def check_format(settings: Mapping[str, Any]) -> None:
    """Run the common tests over a format of recordings.

    Parameters
    ----------
    settings : Mapping of str to Any
        Its table in a study file, e.g. ``{"format": "lab", "files": {"viewing": ["{participant}.lab"]}}``.

    Raises
    ------
    AssertionError
        If a stage that reads it, or its key, would go wrong. Each of ``FORMAT_CHECKS`` is one of the tests,
        and takes the same settings; `check_reading` reads a file.
    """
    for check in FORMAT_CHECKS:
        check(settings)


def check_reading(settings: Mapping[str, Any], file: Path, classes: Sequence[str]) -> Epochs:
    """Read a recording, and copies of it that are cut short.

    Parameters
    ----------
    settings : Mapping of str to Any
        The table of the format in a study file.
    file : Path
        A recording with trials of every class.
    classes : sequence of str
        Classes of the study.

    Returns
    -------
    Epochs
        What was read.

    Raises
    ------
    AssertionError
        If reading it again gives other samples, or a file that is cut short is read, or ends in anything but
        an InputError.
    """
    from shortloop.eeg.formats.read import read_epochs

    known = InputSettings.model_validate(dict(settings))
    found, again = (
        read_epochs(known, [file], participant="S1", phase="x", classes=classes) for _ in range(2)
    )
    same = found.data.tobytes() == again.data.tobytes() and found.labels.tolist() == again.labels.tolist()
    assert same, "the same file is read otherwise the second time"
    content = file.read_bytes()
    for share in (0.0, 0.3, 0.7):
        with TemporaryDirectory() as folder:
            short = Path(folder) / file.name
            size = short.write_bytes(content[: int(share * len(content))])
            try:
                read_epochs(known, [short], participant="S1", phase="x", classes=classes)
            except InputError:
                continue
            except Exception as error:
                said = f"the first {size} bytes of a file end in {type(error).__name__}"
                raise AssertionError(said) from error
            raise AssertionError(f"the first {size} bytes of a file are read as if they were all of it")
    return found


def problem(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Trials of classes that are easy to separate, their classes and folds."""
    import numpy as np

    from shortloop.eeg.decoding.selection.folds import stratified_folds

    labels = np.tile(np.arange(n_classes), 16)
    x = np.random.default_rng(1).standard_normal((len(labels), 6)) + 4.0 * np.eye(n_classes, 6)[labels]
    return x, labels, stratified_folds(labels, 4, 0)


def _check_is_found(settings: Mapping[str, Any]) -> None:
    """Find it by its name, and read back its saved settings; those of a format have no places of files."""
    record, places = _record(settings), dict[str, Any]()
    assert type(record) is type(record).base().named(str(settings[record.tag]))
    kept = record.model_dump(mode="json")
    if isinstance(record, InputSettings):
        sorts = [each for each in (GeneratedInput, RecordedInput, FeaturesInput) if isinstance(record, each)]
        assert len(sorts) == 1, "a format is one of GeneratedInput, RecordedInput and FeaturesInput"
        kept = record.how_to_read("S1")
        assert kept.keys() == type(record).model_fields.keys() - record.places
        places = {name: each for name, each in settings.items() if name in record.places}
    assert _record({**json.loads(json.dumps(kept)), **places}) == record, "what is written makes another"


def _check_training(settings: Mapping[str, Any]) -> None:
    """Train it twice on classes that are easy to separate, and compare its properties."""
    import numpy as np

    from shortloop.eeg.decoding.settings import DecodingSettings
    from shortloop.eeg.decoding.train import train_bin

    estimator = EstimatorSettings.model_validate(dict(settings))
    for n_classes in (2, 3):
        x, labels, folds = problem(n_classes)
        given: dict[str, Any] = {"n_classes": n_classes, "estimator": estimator, "decisions": True}
        try:
            estimator.check_decisions(n_classes)
        except InputError:  # its predictions alone can be scored
            given["decisions"] = False
        decoding = DecodingSettings(folds=4)
        models, again = (train_bin(x, labels, folds, decoding=decoding, **given) for _ in range(2))
        assert models.predicted.tolist() == again.predicted.tolist(), "trained again, it predicts otherwise"
        assert models.weights.tobytes() == again.weights.tobytes(), "trained again, it has other weights"
        right = (models.predicted == labels).mean()
        assert right > 0.9, f"only {right:.0%} of predictions are right for classes that are easy to separate"
        assert np.isfinite(models.decisions).all() or not given["decisions"], "a decision is not finite"
        assert (models.weights.shape[1] == n_classes) == estimator.is_linear, "is_linear, and weights, differ"
        chosen = np.isfinite(models.C).all()
        assert chosen == (estimator.nested_folds is not None), "nested_folds, and whether C is chosen, differ"
    score = _train_on_all_features(estimator)
    assert score is None or score > 90, "trained on many labellings at once, it calls fewer trials right"
    if estimator.weighs_classes:
        weighted = DecodingSettings(folds=4, class_weight="balanced")
        try:
            train_bin(x, labels, folds, decoding=weighted, **given)
        except InputError as error:  # of any classifier, whether it can is only known from its parameters
            if error.field != "decoding.class_weight":
                raise


def _train_on_all_features(estimator: EstimatorSettings) -> float | None:
    """Train one bin, and, if it can be batched, a labelling; its score."""
    import numpy as np

    from shortloop.eeg.decoding.batched.scores import Labellings, batched_scores
    from shortloop.eeg.decoding.settings import DecodingSettings
    from shortloop.eeg.decoding.train import train_bin

    x, labels, folds = problem()
    how: dict[str, Any] = {"decoding": DecodingSettings(folds=4, select_alpha=1.0), "estimator": estimator}
    train_bin(x, labels, folds, n_classes=3, **how)
    if not estimator.batched:
        return None
    many = Labellings(labels[np.newaxis], folds, 3, 4)
    return float(batched_scores(x, many, None, None, within=False, **how)[0][0])


def _imported_late(settings: str) -> list[str]:
    """List modules that training imports although it was warmed up."""
    from shortloop.eeg.decoding.batched import scores
    from shortloop.eeg.decoding.train import warm_up

    estimator = EstimatorSettings.model_validate(json.loads(settings))
    warm_up(estimator)
    if estimator.batched:
        scores.warm_up_batched(estimator)
    problem()
    before = set(sys.modules)
    _train_on_all_features(estimator)
    return sorted(name for name in set(sys.modules) - before if not name.startswith("numba."))


def _check_warming_up(settings: Mapping[str, Any]) -> None:
    """Check that training imports nothing after `warm_up`, before which processes are forked."""
    late = _in_a_new_process(_imported_late, json.dumps(dict(settings)))
    assert late == [], f"warm_up leaves imports to each process that trains: {', '.join(late[:8])}"


def _check_words(settings: Mapping[str, Any]) -> None:
    """Check its words for methods sections, and the references that they cite."""
    from shortloop.eeg.report.methods import REFERENCES

    estimator = EstimatorSettings.model_validate(dict(settings))
    for n_classes in (2, 3):
        said = estimator.described(n_classes)
        assert not UNFIT.search(said), f"described: no part of a sentence: {said!r}"
        for cited in CITED.findall(said):
            assert cited in {**REFERENCES, **estimator.papers}, f"papers lacks what described cites: {cited}"
    for short, full in estimator.papers.items():
        assert short.rpartition(", ")[2] in full, f"papers: the year of {short} is another one in {full}"


def _loaded_to_read(name: str) -> list[str]:
    """List modules that are loaded when a format is warmed up."""
    from shortloop.eeg.formats import read  # noqa: F401

    kind = InputSettings.named(name)
    kind.warm_up(kind.model_construct())
    return [*sys.modules]


def _check_readers_imports(settings: Mapping[str, Any]) -> None:
    """Check that `warm_up` loads everything for the reading process, which has little time and memory."""
    kind = type(_record(settings))
    if issubclass(kind, GeneratedInput):
        return
    imported = set()
    for node in ast.walk(ast.parse(Path(str(sys.modules[kind.__module__].__file__)).read_bytes())):
        if isinstance(node, ast.Import):
            imported |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    needed = {each for each in imported if importlib.util.find_spec(each.partition(".")[0])}
    lacking = needed - {*_in_a_new_process(_loaded_to_read, str(settings["format"]))}
    assert not lacking, f"warm_up leaves imports to the process that reads: {', '.join(sorted(lacking))}"


def _loaded_with(module: str) -> list[str]:
    """List modules that are loaded with one."""
    exec(f"import {module}")  # in a process of its own
    return [*sys.modules]


def _check_is_light(settings: Mapping[str, Any]) -> None:
    """Check that its module, which is imported with every study, imports no heavy library."""
    name = type(_record(settings)).__module__
    heavy = HEAVY & {*_in_a_new_process(_loaded_with, name)}
    assert not heavy, f"{name} imports {', '.join(sorted(heavy))}: import it inside of functions"


def _check_is_in_keys(settings: Mapping[str, Any]) -> None:
    """Check that its module is in the keys of jobs that use it."""
    record = _record(settings)
    name = type(record).__module__
    assert name in record.modules(), "modules() lacks its own module"
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None, f"{name} is no file"
    modules, libraries = closure_of(__name__, Path(__file__), [name])
    assert name in modules or name.partition(".")[0] in libraries


def _check_is_documented(settings: Mapping[str, Any]) -> None:
    """Check its words for `shortloop study`."""
    kind = type(_record(settings))
    assert kind.__doc__, f"{kind.__name__} has no docstring"
    silent = [name for name, field in kind.model_fields.items() if not field.description]
    assert not silent, f"fields without a description: {', '.join(silent)}"


Check = Callable[[Mapping[str, Any]], None]
ESTIMATOR_CHECKS: tuple[Check, ...] = (  # the common tests of estimators; each takes a table of settings
    _check_is_found,
    _check_is_light,
    _check_training,
    _check_warming_up,
    _check_is_in_keys,
    _check_is_documented,
    _check_words,
)
FORMAT_CHECKS: tuple[Check, ...] = (  # the common tests of formats, each of which takes a table of settings
    _check_is_found,
    _check_is_light,
    _check_readers_imports,
    _check_is_in_keys,
    _check_is_documented,
)


def _record(settings: Mapping[str, Any]) -> Tagged:
    base: type[Tagged] = EstimatorSettings if EstimatorSettings.tag in settings else InputSettings
    return base.model_validate(dict(settings))


def _in_a_new_process(function: Callable[[str], list[str]], argument: str) -> list[str]:
    """Call a function of this module in a process that has imported nothing else."""
    name = function.__name__
    code = f"import json, sys, {__name__} as own; print(json.dumps(own.{name}(sys.argv[1])))"
    done = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found
