"""From a folder of recordings to the report, of each format, by `init --data` and `shortloop run`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from eeg_folders import FOLDERS
from installed import Environment, above, environment, wheel

__all__ = ["above", "environment", "wheel"]  # fixtures
pytestmark = pytest.mark.slow
EFFECT = (0.2, 0.4)  # s, of the phase that trains
LATER = {"eeglab": (0.4, 0.6), "bids": (0.4, 0.6)}  # of the decoded one


@pytest.mark.parametrize("format", FOLDERS)
def test_from_folder_to_report(above: Path, environment: Environment, format: str) -> None:
    FOLDERS[format](above / f"data-{format}")
    said = environment.works(above, "shortloop", "init", f"my-{format}", "--eeg", "--data", f"data-{format}")
    assert "To be answered" not in said
    project = above / f"my-{format}"
    assert "is fine" in environment.works(project, "shortloop", "study", "study.toml")
    environment.works(project, "shortloop", "run")
    results = project / f"results/my-{format}"
    assert (results / "report.html").stat().st_size > 50_000
    scores = json.loads((results / "summary.json").read_text(encoding="utf-8"))["scores"]
    assert len(scores) == 3
    times = np.array(scores[0]["train_times"])
    curve = np.mean([each["curve"] for each in scores], axis=0)
    if format == "table":  # of one bin
        assert curve.item() > 65
        return
    during = (times > EFFECT[0]) & (times < EFFECT[1])
    assert curve[during].mean() > 65
    assert abs(curve[times < 0].mean() - 50) < 6
    assert during[curve.argmax()]
    if format in LATER:
        plane = np.mean([each["generalization"] for each in scores], axis=0)  # test × train
        tested, trained = np.unravel_index(plane.argmax(), plane.shape)
        assert during[trained]
        assert LATER[format][0] < times[tested] < LATER[format][1]
