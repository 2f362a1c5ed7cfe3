"""Code that runs inside jobs; all of it is part of every key."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a key holds what is imported anywhere in the code
    from shortloop.stages import inputs, output, records, results, stage, task, threads  # noqa: F401
