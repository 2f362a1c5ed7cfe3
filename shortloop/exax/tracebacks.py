"""Tracebacks limited to the user's code and libraries.

Made for exax 2025.11.11. Upstream: `fmt_tb` could show causes.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable

from shortloop.exax.patches import patch
from shortloop.keys.own_code import PACKAGE, ROOT

WHOLE = "SHORTLOOP_TRACEBACK"  # environment variable: tracebacks are whole if it is ``full``
MOST = 40  # calls at each end of a traceback
_PLACE = r'^( *)File "(.+)", line \d+(?:, in .+)?$'
FRAME = re.compile(rf"{_PLACE}\n?(?:(?!{_PLACE})\1 .*\n?)*", re.MULTILINE)  # with the lines indented below
TITLE_ALONE = re.compile(rf"^ *Traceback \(most recent call last\): *\n?+(?!{_PLACE})", re.MULTILINE)
OWN_ERROR = re.compile(rf"^( *){PACKAGE}\.[\w.]+\.(?:InputError|TransientError|EngineSilent): ", re.MULTILINE)
MACHINERY = re.compile(
    "|".join(
        (
            "<frozen (?:importlib|runpy)",
            re.escape(f"{ROOT}/{PACKAGE}/"),
            ".*/site-packages/(?:accelerator|click|pydantic|pydantic_core|typer)/",
            r".*/lib/python[\d.]+/(?:importlib/__init__|runpy)\.py$",
        )
    )
)


def of_user(text: str) -> str:
    """Remove frames of this package, exax and the like from the tracebacks in a text."""
    if os.environ.get(WHOLE) == "full":
        return text
    kept = FRAME.sub(lambda frame: "" if MACHINERY.match(frame[2]) else frame[0], text)
    if frames := [*FRAME.finditer(kept)]:
        if (left_out := len(frames) - 2 * MOST) > 0:  # of a recursion without an end
            said = f"{frames[0][1]}… {left_out:,} calls left out: {WHOLE}=full shows them\n"
            kept = kept[: frames[MOST].start()] + said + kept[frames[-MOST].start() :]
        return TITLE_ALONE.sub("", kept)
    # Its message says all, where it was raised nothing; any other error without a frame of the user is ours.
    return OWN_ERROR.sub(r"\1", TITLE_ALONE.sub("", kept)) if OWN_ERROR.search(kept) else text


def user_traceback(error: BaseException) -> str:
    """Format an exception with its causes as `of_user` does."""
    return of_user("".join(traceback.format_exception(error))).rstrip()


def keep_causes() -> None:
    """Add the causes of an exception, which exax leaves out, to the error of a job."""
    from accelerator import launch

    @patch(launch, "fmt_tb")
    def with_causes(original: Callable[[int], str], skip: int) -> str:
        error = sys.exc_info()[1]
        assert error is not None
        whole, own = ("".join(traceback.format_exception(error, chain=each)) for each in (True, False))
        return whole.removesuffix(own) + original(skip)
