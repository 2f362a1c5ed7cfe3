"""What both feature stages do: share trials out to the slices, which write into one file per phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shortloop.eeg.data import Features
from shortloop.eeg.stages.feature_files import feature_arrays, feature_facts, load_epochs
from shortloop.engines.units import Units
from shortloop.worker.records import create_array, save_array, write_record
from shortloop.worker.results import open_result
from shortloop.worker.threads import check_single_thread

__all__ = ["FeatureStage"]

TRIALS_PER_UNIT = 10


class FeatureStage:
    """The features of all phases of one participant; made in ``prepare``, before the slices fork.

    Parameters
    ----------
    epochs : path-like
        Folder of the job that holds the epochs.
    phases : sequence of str
        Phases to compute.
    compute : callable
        ``compute(epochs, settings, trials=slice, out=array, participant=str) -> Features``.
    settings : object
        Its settings.
    """

    def __init__(
        self, epochs: str, phases: Sequence[str], compute: Callable[..., Features], settings: Any
    ) -> None:
        source = open_result(epochs)
        self._compute = compute
        self._settings = settings
        self._participant = source.partition
        self._epochs = {phase: load_epochs(source, phase) for phase in phases}
        self._described: dict[str, Features] = {}
        self._out: dict[str, np.memmap] = {}
        self._parts: list[tuple[str, slice]] = []
        for phase, each in self._epochs.items():
            # One trial gives the shape, and imports here what the slices then share.
            features = self._part(phase, slice(0, 1))
            n_bins, _, n_features = features.data.shape
            self._described[phase] = features
            self._out[phase] = create_array(
                f"data_{phase}", (n_bins, len(each.labels), n_features), np.float32
            )
            self._parts += [
                (phase, slice(first, first + TRIALS_PER_UNIT))
                for first in range(0, len(each.labels), TRIALS_PER_UNIT)
            ]
        self._units = Units(len(self._parts))

    def compute(self) -> list[dict[str, Any]] | None:
        """Work of one slice, until all trials are taken.

        Returns
        -------
        list of dict or None
            From one of the slices its thread pools, as `check_single_thread` found them.
        """
        for unit in self._units:
            phase, trials = self._parts[unit]
            self._part(phase, trials, self._out[phase][:, trials])
        return check_single_thread() if self._units.had_last else None

    def finish(self, stage: str, participant: str, threads: list[dict[str, Any]]) -> None:
        """Write what is left and the record.

        Parameters
        ----------
        stage : str
            Name of the stage.
        participant : str
            Whose data.
        threads : list of dict
            Thread pools of a slice.
        """
        arrays, facts = {}, {}
        for phase, features in self._described.items():
            save_array(f"labels_{phase}", self._epochs[phase].labels)
            save_array(f"times_{phase}", features.times)
            arrays.update(feature_arrays(phase, features.unit, features.time_unit))
            facts = feature_facts(features)
        write_record(stage, participant, arrays, facts=facts, threads=threads)

    def _part(self, phase: str, trials: slice, out: np.ndarray | None = None) -> Features:
        return self._compute(
            self._epochs[phase], self._settings, trials=trials, out=out, participant=self._participant
        )
