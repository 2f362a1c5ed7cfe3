"""Entry point of the ``shortloop`` command: registered commands and error output."""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import sys
import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import copy
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from shortloop import __version__
from shortloop.base.errors import InputError
from shortloop.base.terminal import wrapped
from shortloop.base.text import substitute_unencodable
from shortloop.cli import completion, output
from shortloop.cli.main import app, with_settings
from shortloop.project.project import project_directory
from shortloop.project.system_errors import system_error
from shortloop.run.termination import printed_errors

if typing.TYPE_CHECKING:
    from typer.models import CommandInfo

HELP = "Run analyses made of many independent fits, and re-run only what a change affects."
INDENT = " " * 16  # of the facts of an error
PARSED = ("parser", "click_type")  # say how typer parses a parameter


def set_path() -> None:
    """Import from the project, and not from the directory of the command or the current one.

    The project comes last: a command that only reads a project, perhaps somebody else's, runs no code of it.
    A run has it first.
    """
    if not sys.flags.safe_path:
        del sys.path[0]
    with suppress(InputError, OSError):  # no project: the command reports it if it needs one
        sys.path.append(str(project_directory()))


def main() -> None:
    """Run the command: user errors are one message and status 1; others keep their traceback."""
    substitute_unencodable()
    interrupted = _note_interrupts()
    as_json = output.asks_for_json()
    try:
        if completion.is_requested():
            completion.complete(command(""))
            raise SystemExit(0)
        if as_json:
            output.reserve_output()
        status = command("".join(sys.argv[1:2]))(standalone_mode=False)
        raise SystemExit(status if isinstance(status, int) else 0)
    except BrokenPipeError:  # | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except SystemExit as ending:  # of a build script, which has printed why to standard error
        if as_json and ending.code and not output.is_printed():
            why = "interrupted" if ending.code == 130 else f"exited with status {ending.code}"
            _end(ending.code, printed_errors[-1] if printed_errors else InputError(why), quiet=True)
        raise
    except (KeyboardInterrupt, Exception) as error:
        if interrupted or isinstance(error, KeyboardInterrupt):  # which some libraries replace
            _end(130, InputError("interrupted"), quiet=True)
        _end_with(error)


def _end_with(error: Exception) -> typing.NoReturn:
    """Print an exception for the user, and exit; a bug keeps its traceback."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), end="")  # type: ignore[attr-defined]  # empty where rich has printed
        raise SystemExit(2) from None
    if hasattr(error, "format_message"):
        _end(2, _usage_error(error))
    if type(error).__name__ == "Abort":
        _end(1, InputError("aborted: no answer was given"))
    known = error if isinstance(error, InputError) else system_error(error)
    if known is not None:
        _end(1, known)
    try:
        from shortloop.exax.tracebacks import user_traceback
    except (OSError, MemoryError) as short:  # memory, whatever it was that failed for lack of it
        _end(1, system_error(short) or InputError(str(short)))
    print(user_traceback(error), file=sys.stderr)
    unexpected = InputError(f"{type(error).__name__}: {error}", hint="see the traceback on standard error")
    _end(1, unexpected, quiet=True)


def _end(status: Any, error: InputError, quiet: bool = False) -> typing.NoReturn:
    """Print an error, with --json as a document, and exit."""
    if output.asks_for_json():
        output.print_json(error=output.error_fields(error))
    elif not quiet:
        lines = f"shortloop: {error.message}".split("\n")
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns
            lines = [part for line in lines for part in wrapped(line.expandtabs(), width, INDENT)]
        print("\n".join(lines), file=sys.stderr)
    raise SystemExit(status) from None


def _usage_error(error: Any) -> InputError:
    """The error in the command line, and what was probably meant."""
    problem = error.message if hasattr(error, "possibilities") else error.format_message()
    problem, _, meant = problem.rstrip("?").partition(". Did you mean ")
    meant = meant or ", ".join(sorted(getattr(error, "possibilities", None) or ()))
    context = getattr(error, "ctx", None)
    path = context.command_path if context else " ".join(["shortloop", *sys.argv[1:2]])
    hint = f"see `{path} --help`"
    known = None
    if meant:
        hint = f"did you mean {meant}? Else {hint}"
    elif context and hasattr(error, "possibilities"):
        params = (each for each in context.command.params if not getattr(each, "hidden", False))
        known = ", ".join(sorted(name for each in params for name in each.opts if name.startswith("--")))
    return InputError(f"{problem[:1].lower()}{problem[1:]}".rstrip("."), expected=known, hint=hint)


def command(first: str) -> Any:
    """The command, with commands and flags of analyses if `first`, its first word, may need them."""
    made = typer.Typer(help=HELP, no_args_is_help=True, pretty_exceptions_enable=False)
    made.callback()(_options)
    own = {each.callback.__name__: each for each in app.registered_commands if each.callback}
    # Most commands work even if an analysis cannot be imported.
    made.registered_commands += [own[first]] if first in own and first != "init" else _all_commands(own)
    return typer.main.get_command(made)


def _spare_pydantic() -> None:
    """Make typer import pydantic only if a value needs it: that takes a third of a short command."""
    parameters: Any = getattr(typer.core, "_TyperParameter", None)  # in versions that use pydantic
    original: Any = getattr(parameters, "get_runtime_param", None)

    def coerce(parameter: Any, value: Any, **context: Any) -> Any:
        kind = parameter.type_descriptor
        if value is None:
            return () if parameter.multiple or parameter.nargs == -1 else None
        is_plain = kind.annotation in (bool, str) and type(value) is kind.annotation
        if is_plain and not any(getattr(kind.parameter_info, each, None) for each in PARSED):
            return value
        return original(parameter).coerce(value, **context)

    if original is not None:
        parameters.get_runtime_param = lambda parameter: SimpleNamespace(coerce=partial(coerce, parameter))


_spare_pydantic()


def _all_commands(own: Mapping[str, CommandInfo]) -> list[CommandInfo]:
    from shortloop.analyses import find_analyses

    analyses = find_analyses()
    templates = [name for name, each in analyses.items() if each.template is not None]
    settings = [name for name, each in analyses.items() if each.settings is not None]
    init = _with_flags(own["init"], templates, "Start from the {} analysis.")
    _, run, plan, *others = own.values()
    listed = [init, run, plan, *others]
    if settings:
        checks, sweeps = with_settings.registered_commands
        checks = _with_flags(checks, settings, "Treat the file as settings of the {} analysis.")
        listed = [init, checks, run, plan, sweeps, *others]  # in the order of their use
    added = [each.commands.registered_commands for each in analyses.values() if each.commands is not None]
    return [*listed, *chain(*added)]


def _with_flags(command: CommandInfo, names: Iterable[str], what: str) -> CommandInfo:
    """A command with a flag for each name in place of its parameter `named`."""
    function = command.callback
    assert function is not None
    flags = {f"of_{name.replace('-', '_')}": f"--{name}" for name in names}
    parameters = {**inspect.signature(function, eval_str=True).parameters}
    del parameters["named"]
    for name, flag in flags.items():
        kind = Annotated[bool, typer.Option(flag, help=what.format(flag[2:]))]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters[name] = inspect.Parameter(name, keyword, default=False, annotation=kind)

    def flagged(**given: Any) -> Any:
        return function(named=[flag for name, flag in flags.items() if given.pop(name)], **given)

    flagged.__name__, flagged.__doc__ = function.__name__, function.__doc__
    flagged.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
    flagged.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    made = copy(command)
    made.callback = flagged
    return made


def _note_interrupts() -> list[int]:
    """A list that grows with each Ctrl-C, which raises as usual."""
    noted: list[int] = []

    def note(number: int, _: object) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, note)
    return noted


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"shortloop {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    pass
