"""What a job that measures leaves: the same, whoever has measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.frames.check import Checked, check_aggregates, check_random
from shortloop.frames.work import Aggregates

if TYPE_CHECKING:
    from shortloop.frames.measure import Measured
    from shortloop.plain import Plain
    from shortloop.worker.stage import Job

__all__ = ["measured_facts"]


def measured_facts(measured: Measured, truth: Job, workers: int) -> dict[str, Plain]:
    """Facts of a measurement.

    Parameters
    ----------
    measured : Measured
        What came of it.
    truth : Job
        What must have come of it, of the stage `FramesTruth`.
    workers : int
        Cores that the library was asked to use.

    Returns
    -------
    dict
        ``failed`` and ``wrong``, which are empty if all is well; ``workers``, and numbers of `Checked` and
        `Timed`.
    """
    import numpy as np

    arrays, checked = truth.arrays, Checked()
    if measured.aggregates is not None:
        checked = check_aggregates(measured.aggregates, Aggregates(arrays["counts"], arrays["sums"]))
    elif measured.values is not None:
        checked = check_random(measured.values, np.asarray(arrays["x"]))
    return {
        "workers": workers,
        "failed": measured.failed,
        "wrong": checked.wrong,
        "ks_p": checked.ks_p,
        "repeated": checked.repeated,
        **measured.timed.plain(),
    }
