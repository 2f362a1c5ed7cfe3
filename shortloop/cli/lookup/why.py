"""``shortloop why``: explain why a job was built."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.cli.output import print_json, print_lines
from shortloop.plan.explain.causes import Cause, Explained, explain, same_cause
from shortloop.plan.settings_files import names_of_file
from shortloop.project.project import job_directory, user_directory
from shortloop.settings.paths import SETTINGS_VARIABLE, STUDY_VARIABLE
from shortloop.settings.read import settings_path
from shortloop.store.index import Purpose
from shortloop.store.store import Store

VARIABLES = (SETTINGS_VARIABLE, STUDY_VARIABLE)
LINES, FEWER = 40, 10  # of a diff, in `why` and in `compare`


def print_why(what: str, settings: str | None, full: bool, as_json: bool = False) -> None:
    """Print why a job was built, or jobs of a stage, for `settings` or the file in the environment."""
    with Store() as store:
        if re.fullmatch(r".+-\d+", what):
            job_directory(what)
            groups = [[explain(store, what)]]
        else:
            groups = same_cause([explain(store, job) for job in _of_stage(store, what, settings)])
    if as_json:
        print_json(groups=[_group_fields(group) for group in groups])
        return
    printer = _Printer(None if full else LINES)
    for place, group in enumerate(groups):
        print_lines(*([""] if place else []))
        printer.group(group)


def _of_stage(store: Store, stage: str, settings: str | None) -> list[str]:
    places, names = store.index.places(), store.index.settings_names()
    jobs = [
        (job, place.pipeline, names.get(Purpose(place.pipeline)))
        for place, job in places.items()
        if place.stage == stage
    ]
    if not jobs:
        stages = sorted({place.stage for place in places})
        expected = f"a job id, or {', '.join(stages) or 'a run'}"
        raise InputError("unknown stage", found=stage, expected=expected)
    is_named = settings is None and any(map(os.environ.get, VARIABLES))
    file = settings_path(VARIABLES, Path(), user_directory()) if is_named else None  # as a run would read it
    wanted: set[str | None] = {settings}
    if file is not None:
        wanted = {*names_of_file(store.index, file), None}  # None: jobs without settings
    is_any = settings is None and file is None
    found = {job for job, of, own in jobs if is_any or not wanted.isdisjoint((of, own))}
    if not found:
        raise InputError(
            "the stage has no job with these settings",
            file=file,
            found=settings or " and ".join(filter(os.environ.get, VARIABLES)) + " in the environment",
            expected=" or ".join(sorted({own or of for _, of, own in jobs})),
            hint="run them, or choose other settings with `--settings`",
        )
    return sorted(found, key=lambda job: (job.rpartition("-")[0], int(job.rpartition("-")[2])))


def _group_fields(group: list[Explained]) -> dict[str, object]:
    first = group[0]
    return {
        "jobs": [{"job": each.manifest.job, "partition": each.manifest.partition} for each in group],
        "stage": _stage(first),
        "pipeline": first.manifest.pipeline,
        "reason": first.manifest.reason,
        "harmless": [*dict.fromkeys(each.line for one in group for each in one.manifest.harmless)],
        "compared_with": first.before or None,
        "in_its_place": first.in_place,
        "causes": cause_fields(first.causes),
    }


def cause_fields(causes: list[Cause]) -> list[dict[str, object]]:
    return [
        {"kind": each.difference.kind, "name": each.difference.name, "words": each.words, "diff": each.diff}
        | {"above": [_above_fields(*above) for above in each.above]}
        for each in causes
    ]


def _above_fields(above: Explained, alike: object) -> dict[str, object]:
    job = {"job": above.manifest.job, "stage": _stage(above), "partition": above.manifest.partition}
    how = {"compared_with": above.before or None, "alike": alike, "followed": above.is_followed}
    return {**job, **how, "causes": cause_fields(above.causes)}


def print_causes(causes: list[Cause]) -> None:
    _Printer(FEWER).causes(causes, "  ")


class _Printer:
    """Prints causes; each code difference and each upstream job once."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._seen: set[object] = set()

    def group(self, group: list[Explained]) -> None:
        first = group[0]
        manifest = first.manifest
        stage = _stage(first)
        one = f"{manifest.job}: {stage} {manifest.partition or ''}".rstrip()
        several = f"{len(group)} × {stage}: {', '.join(_job_name(each) for each in group)}"
        print_lines(one if len(group) == 1 else several)
        print_lines(f"  built for {manifest.pipeline}: {manifest.reason}")
        declared = dict.fromkeys(harmless.line for each in group for harmless in each.manifest.harmless)
        print_lines(*(f"  since then {line}" for line in declared))
        if not first.before:
            print_lines("  there is no older job of its kind to compare it with")
            return
        how = "in its place before" if first.in_place else "the most similar older job"
        subject = "" if len(group) == 1 else f"{manifest.job} is "
        print_lines(f"  {subject}compared with {first.before}, {how}")
        if not first.causes:
            print_lines("  both were made of the same")
        self.causes(first.causes, "  ")

    def causes(self, causes: list[Cause], indent: str) -> None:
        for cause in causes:
            again = self._again(cause.difference) if cause.diff else ""
            print_lines(f"{indent}· {cause.words}{again}")
            shown = [] if again else cause.diff[: self._most]
            print_lines(*(f"{indent}    {line}" for line in shown))
            if not again and len(shown) < len(cause.diff):
                left = len(cause.diff) - len(shown)
                print_lines(f"{indent}    … {left} more lines; `shortloop why --full` prints them")
            for each, number in cause.above:
                more = f", and {number - 1} more like it" if number > 1 else ""
                end = again = self._again((each.manifest.job, each.before))
                if not each.is_followed:
                    end = f": `shortloop why {each.manifest.job}` continues from here"
                elif not each.causes:
                    end = f", same code and inputs as {each.before}, but a different result"
                print_lines(f"{indent}    {_job_name(each)} ({_stage(each)}){more}{end}")
                if not again:
                    self.causes(each.causes, f"{indent}      ")

    def _again(self, what: object) -> str:
        if what in self._seen:
            return ", as above"
        self._seen.add(what)
        return ""


def _stage(each: Explained) -> str:
    return each.manifest.parts.method.rpartition(".")[2]


def _job_name(each: Explained) -> str:
    return f"{each.manifest.job} {each.manifest.partition}" if each.manifest.partition else each.manifest.job
