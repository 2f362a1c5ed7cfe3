"""What runs inside a job: all of it is part of the key of every stage."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a key holds what is imported anywhere in the code
    from shortloop.worker import fields, inputs, output, records, results, stage, task, threads  # noqa: F401
