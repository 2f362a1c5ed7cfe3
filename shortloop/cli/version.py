"""``shortloop --version``."""

from __future__ import annotations

from typing import Annotated

import typer

from shortloop import __version__

__all__ = ["options"]


def _say(asked: bool) -> None:
    if asked:
        typer.echo(f"shortloop {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Say which version this is, and end.

    Parameters
    ----------
    version : bool, default False
        Whether it is asked for.
    """
