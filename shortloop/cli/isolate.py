"""``shortloop isolate``: a stage alone in one process, in a session, a debugger or a script."""

from __future__ import annotations

import code
import contextlib
import pdb
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.base.terminal import Waiting
from shortloop.base.text import counted, one_line, short_list
from shortloop.cli.lookup.logs import jobs_named
from shortloop.cli.output import print_lines
from shortloop.exax.tracebacks import user_traceback
from shortloop.isolation import IsolatedStage, isolate
from shortloop.run.runs import read_runs, run_numbers
from shortloop.store.setup import setup_of, title_of

NAMED = 8  # units in a message
SCRIPT = '''\
"""{title}, alone in one process: run it, or load it in a notebook."""

import shortloop

stage = shortloop.isolate("{job}"{more})
print(stage.inputs)
print(stage.units)
values = stage.compute({unit})
print(values)
'''


def isolate_stage(what: str, unit: str | None, debug: bool, dummy: bool, script: Path | None) -> None:
    """Open the newest job of a stage, or a job, and do with it what is asked for."""
    folder = max(jobs_named(what), key=lambda each: setup_of(each).get("starttime", 0.0))
    setup = setup_of(folder)
    title = one_line(f"{title_of(setup)} ({folder.name})")
    stage = isolate(folder.name, dummy)
    named = [each for each in stage.units if unit in (None, str(each))]
    if unit is not None and not named:
        expected = short_list([*map(str, stage.units)], NAMED) or "no --unit: the stage has none"
        raise InputError("no such unit", found=unit, expected=expected)
    if script is not None:
        more, first = (", dummy=True" if dummy else ""), (repr(named[0]) if named else "")
        text = SCRIPT.format(title=title, job=folder.name, more=more, unit=first)
        try:
            script.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError("a script cannot be written there", file=script, found=error.strerror) from None
        print_lines(f"written: {script}")
    elif debug:
        _debug(stage, title, _in_turn(stage, setup["method"]) if unit is None else named)
    else:
        inputs = ", ".join(stage.inputs)
        units = short_list([*map(str, stage.units)], 4) or "none"
        example = f"stage.compute({named[0]!r})" if named else "stage.compute()"
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  lines of the session can be edited
        known = f"`stage.inputs` ({inputs}), `stage.units` ({units}), `{example}`"
        names = {**stage.inputs, "stage": stage}
        code.interact(f"{title}, alone in this process: {known}", local=names, exitmsg="")


def _in_turn(stage: IsolatedStage, method: str) -> list[object]:
    """Units of a stage, failed ones first; None stands for the whole stage."""
    said = "".join(record.error for _, record, _ in read_runs(run_numbers()[-1:]))
    named = [unit for unit in stage.units if f"{unit} of {method}" in said or f"in unit {unit}" in said]
    return [*named, *(unit for unit in stage.units if unit not in named), None]


def _debug(stage: IsolatedStage, title: str, units: list[object]) -> None:
    with Waiting("computed") as waiting:
        for done, unit in enumerate(units):
            waiting.tell(done, len(units))
            try:
                stage.compute(unit)
            except Exception as error:
                failed = title if unit is None else f"{unit} of {title}"
                print_lines(user_traceback(error), "", f"{failed} failed; `u` and `d` move through the calls")
                pdb.post_mortem(error.__traceback__)
                return
    computed = counted(sum(unit is not None for unit in units), "unit")
    print_lines(f"{computed} of {title} computed: none failed")
