"""Checks across the recordings of a study. Light: they see summaries and hashes of files only."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.text import short_list
from shortloop.eeg.checks.plausible import same_rate
from shortloop.eeg.checks.summary import RecordingSummary
from shortloop.stages.inputs import File

Refuse = Callable[[InputError], None]  # called with each problem; if it returns, the check finds the others

# Ratios of signal sizes. Caps, gels, references and people make a factor of ten, artefacts another.
ODD, IMPOSSIBLE = 100.0, 1e5
# Ratio of class sizes. With the default estimator, an effect that is decoded at 75 % with even classes comes
# out at 73 % with 2 to 1, 66 % with 3 to 1 and 59 % with 5 to 1; with class weights, at 72, 69 and 69 %.
UNEVEN = 2
SHOWN, SHOWN_RUNS = 8, 4  # names, and runs, in a message
CLEAR = 0.1  # how far, from chance (0) to all trials (1), a run must tell the class of its trials
ALIKE = "make the recordings alike, or leave the participant out"
DEVIATIONS = 4  # SD of chi-square above its mean: more than random orders of trials give


def raise_first(error: InputError) -> None:
    """Raise the first problem; a `Refuse`."""
    raise error


def report(refuse: Refuse, summary: RecordingSummary, problem: str, **facts: Any) -> None:
    """Refuse a recording."""
    refuse(InputError(problem, participant=summary.participant, file=summary.file or None, **facts))


def check_alike(
    summaries: Iterable[RecordingSummary], refuse: Refuse = raise_first
) -> list[RecordingSummary]:
    """Check that recordings of one kind have the same shape in all participants and phases."""
    kinds: dict[str, list[RecordingSummary]] = {}
    for summary in summaries:
        kinds.setdefault(summary.kind, []).append(summary)
    same = []
    for of_kind in kinds.values():
        differ = [one for field in _NAMES if field != "times" for one in _check_same(of_kind, field, refuse)]
        for phase in dict.fromkeys(summary.phase for summary in of_kind):
            own = [each for each in of_kind if each.phase == phase and each not in differ]
            differ += _check_same(own, "times", refuse)
        same += [each for each in of_kind if each not in differ]
    return same


def check_scales(summaries: Iterable[RecordingSummary], refuse: Refuse = raise_first) -> dict[int, str]:
    """Check that signals are of about the same size in all participants and phases."""
    known = {number: each for number, each in enumerate(summaries) if each.amplitude > 0}
    if not known:
        return {}
    usual = statistics.median(math.log10(each.amplitude) for each in known.values())
    model = min(known.values(), key=lambda each: abs(math.log10(each.amplitude) - usual))
    odd = {}
    for number, each in known.items():
        apart = each.amplitude / model.amplitude
        times = max(apart, 1 / apart)
        found = f"{each.amplitude:.3g} {each.unit}"
        expected = f"{model.amplitude:.3g} {model.unit}, as in {model.participant}, {model.phase}"
        if times >= IMPOSSIBLE:
            problem = f"signals differ {times:.2g}-fold in size: some are probably in V, and others in µV"
            found = f"a typical deviation of {found} within a trial of the {each.phase} phase"
            hint = "export all in the same unit, or scale those that are not"
            report(refuse, each, problem, field="unit", found=found, expected=f"about {expected}", hint=hint)
        elif times >= ODD:
            size = "larger" if apart > 1 else "smaller"
            odd[number] = (
                f"the signal is {times:.3g} times {size} than usual: its deviation in a trial is {found}, "
                f"not {expected}; is it in another unit (mV beside µV), or full of artefacts?"
            )
    return odd


def check_trials(
    summaries: Iterable[RecordingSummary],
    *,
    folds: int,
    inner_folds: int | None,
    refuse: Refuse = raise_first,
) -> None:
    """Check that every class has enough trials for the folds."""
    needed = trials_needed(folds, inner_folds)
    inner = f" and {inner_folds} inner folds" if inner_folds else ""
    field, hint = "decoding.folds", "ask for fewer folds, or leave the participant out"
    expected = f"at least {needed} for {folds} folds{inner}"
    for summary in summaries:
        problem = f"too few trials of a class in the {summary.phase} phase"
        for name in [name for name, count in summary.trials.items() if count < needed]:
            found = f"{summary.trials[name]} trials of {name}"
            report(refuse, summary, problem, field=field, found=found, expected=expected, hint=hint)


def uneven_classes(summary: RecordingSummary) -> str:
    """Describe uneven classes; empty if they are even enough."""
    if max(summary.trials.values()) < UNEVEN * min(summary.trials.values()):
        return ""
    counts = ", ".join(f"{count} {name}" for name, count in summary.trials.items())
    return (
        f"classes of {counts}: classifiers call most trials the largest class, which hides an effect from "
        "accuracy and balanced accuracy; say decoding.class_weight = 'balanced', decoding.subsample = true, "
        "or decoding.score = 'auc'"
    )


def trials_needed(folds: int, inner_folds: int | None) -> int:
    """Return the fewest trials of a class for folds, and for inner folds within each."""
    # A stratified fold takes at most ceil(n / folds) trials of a class.
    return next(n for n in itertools.count(folds) if n - -(-n // folds) >= (inner_folds or 0))


_NAMES = {
    "channels": "channels",
    "sfreq": "sampling rate (Hz)",
    "tmin": "start of the epochs (s)",
    "samples": "samples per epoch",
    "bins": "number of bins",
    "features": "features per bin",
    "names": "names of features",
    "times": "times of bins",  # compared within each phase
}


def _check_same(summaries: Sequence[RecordingSummary], field: str, refuse: Refuse) -> list[RecordingSummary]:
    """Refuse summaries that differ from most in a field, and return them."""
    if not summaries:
        return []
    usual = Counter(getattr(summary, field) for summary in summaries).most_common(1)[0][0]
    model = next(summary for summary in summaries if getattr(summary, field) == usual)
    differ = [summary for summary in summaries if not _same(summary, model, field)]
    for summary in differ:
        found, expected = getattr(summary, field), getattr(model, field)
        reported = field == "names" and len(found) != len(expected)  # as the number of features
        if reported or _follows_from_the_rate(summary, model, field):
            continue
        hint = _same_channels(summary, model) if field == "channels" else ALIKE
        if field in ("channels", "names"):
            found, expected = _names_apart(found, expected, "channels" if field == "channels" else "features")
        elif field == "times":
            found, expected = (f"{each[0]:g} to {each[-1]:g}" for each in (found, expected))
        problem = f"{_NAMES[field]} of the {summary.phase} phase ({summary.kind}) differ from the others"
        expected = f"{expected}, as in {model.participant}, {model.phase}"
        report(refuse, summary, problem, field=field, found=found, expected=expected, hint=hint)
    return differ


def _follows_from_the_rate(one: RecordingSummary, other: RecordingSummary, field: str) -> bool:
    """True if a difference follows from one in the rates, which is reported."""
    if _same(one, other, "sfreq"):
        return False
    near = abs(one.tmin - other.tmin) * min(one.sfreq, other.sfreq) <= 1
    return field == "samples" or (field == "tmin" and near)


def _same(one: RecordingSummary, other: RecordingSummary, field: str) -> bool:
    if field == "sfreq":
        return same_rate(one.sfreq, other.sfreq)
    if field == "tmin":
        return abs(one.tmin - other.tmin) * other.sfreq < 0.5
    if field == "times":
        step = min((b - a for a, b in itertools.pairwise(other.times)), default=1.0)
        pairs = zip(one.times, other.times, strict=False)  # their number is compared, too
        return all(abs(a - b) < 0.25 * step for a, b in pairs)
    return bool(getattr(one, field) == getattr(other, field))


def _names_apart(found: Sequence[str], expected: Sequence[str], what: str) -> tuple[str, str]:
    if set(found) == set(expected):
        first = next(number for number, pair in enumerate(zip(found, expected)) if pair[0] != pair[1])
        start = first if first >= SHOWN else 0
        others = ["…, " * (start > 0) + short_list(each[start:], SHOWN) for each in (found, expected)]
        return f"another order: {others[0]}", others[1]
    lacking = [name for name in expected if name not in found]
    both = (("without", lacking), ("with", [name for name in found if name not in expected]))
    parts = [f"{word} {short_list(names, SHOWN)}" for word, names in both if names]
    return f"{len(found)} {what}, {' and '.join(parts)}", f"{len(expected)} {what}"


def _same_channels(one: RecordingSummary, other: RecordingSummary) -> str:
    """Suggest how recordings get the same channels; only formats that MNE reads can select channels."""
    if not any("types" in account for account in one.accounts):
        return "save the same channels, in one order, in all files"
    apart = sorted({*one.channels} ^ {*other.channels})
    bads = {name for each in (one, other) for account in each.accounts for name in account.get("bads", ())}
    if apart and bads.issuperset(apart):
        return (
            f"leave out in all what is bad in some (input.drop = {apart}), or interpolate it, which needs "
            "positions (input.preprocessing.interpolate = true)"
        )
    shared = [name for name in other.channels if name in one.channels]
    take = f"take the channels that both have (input.picks = {shared}), or leave the participant out"
    return take if shared else ALIKE


def refuse_repeated(
    files: Mapping[str, Mapping[str, Sequence[File]]],
    field: str,
    refuse: Refuse = raise_first,
    of_all: bool = False,
) -> None:
    """Refuse two files of the same content; one file may hold several phases of a participant."""
    known: dict[str, tuple[str, str, File]] = {}
    for participant, phases in files.items():
        for phase, of_phase in phases.items():
            for file in (each for each in of_phase if each.content):  # plans read no files
                who, when, first = known.setdefault(file.content, (participant, phase, file))
                if file.path == first.path and (of_all or who == participant):
                    continue
                error = InputError(
                    "a recording is there twice",
                    participant=participant,
                    file=file.path,
                    field=f"{field}.{phase}",
                    found=f"every byte as in {first.path}, {who}, {when}",
                    hint="put the right file there, or leave one out: two copies make effects out of noise",
                )
                refuse(error)


def class_told_by_run(summary: RecordingSummary, *, by_run: bool = False) -> str:
    """Describe how runs tell the class of a trial; empty if they do not, or if folds are by run."""
    table = trials_by_run(summary)
    if by_run or len(table) < 2 or not _beyond_chance(table):
        return ""
    sizes = [sum(column) for column in zip(*table, strict=True)]
    shares = [max(count / size for count, size in zip(row, sizes, strict=True)) for row in table]
    told, chance = sum(shares) / len(sizes), 1 / len(sizes)
    if (told - chance) < CLEAR * (1 - chance):
        return ""
    remedy = "hold out whole runs: decoding.fold_by = 'run'"
    if alone := in_one_run(summary):
        remedy = f"no folds can tell class from run: record {' and '.join(alone)} in several runs"
    return (
        f"classes depend on the run ({describe_runs(summary)}): the run alone tells the class of "
        f"{100 * told:.0f} % of the trials (chance: {100 * chance:.0f} %), so that drift of the electrodes "
        f"passes for an effect of class; {remedy}"
    )


def in_one_run(summary: RecordingSummary) -> list[str]:
    """Return the classes with all trials in one run."""
    columns = zip(*trials_by_run(summary), strict=True)
    return [name for name, column in zip(summary.trials, columns, strict=True) if sum(map(bool, column)) == 1]


def trials_by_run(summary: RecordingSummary) -> list[list[int]]:
    """Count the trials of each class (columns) in each run that has any (rows)."""
    rows = [[run["trials"].get(name, 0) for name in summary.trials] for run in summary.runs]
    return [row for row in rows if any(row)]


def describe_runs(summary: RecordingSummary) -> str:
    """List runs with their numbers of trials."""
    said = [
        f"{run['file']}: {', '.join(f'{count} {name}' for name, count in run['trials'].items() if count)}"
        for run in summary.runs
        if any(run["trials"].values())
    ]
    return short_list(said, SHOWN_RUNS, "; ")


def _beyond_chance(table: Sequence[Sequence[int]]) -> bool:
    """True if classes depend on runs, by chi-square of a table without empty rows or columns."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    expected = [[row * column / sum(rows) for column in columns] for row in rows]
    pairs = zip(itertools.chain(*table), itertools.chain(*expected), strict=True)
    chi2 = sum((count - mean) ** 2 / mean for count, mean in pairs)
    freedom = (len(rows) - 1) * (len(columns) - 1)
    return bool(chi2 > freedom + DEVIATIONS * math.sqrt(2 * freedom))
