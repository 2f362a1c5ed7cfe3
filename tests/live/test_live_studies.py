"""The ready studies, from their own recordings to the report, as a newcomer runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_project import AX, ROOT, LiveProject

pytestmark = pytest.mark.slow  # tests/eeg/decoding/test_decoding_train.py has the confusions of the thesis
SHARED = ROOT.parent / "shared"


def run_study(project: LiveProject, study: Path | None, **environment: str) -> dict[str, Any]:
    given = ["env", f"STUDY={study}"] if study else ["env", "-u", "STUDY"]
    done = project.shell(*given, AX, "run", "build_pipeline", **environment).ok()
    (page,) = re.findall(r"report: (results/\S+)/report.html", done.stdout)
    summary: dict[str, Any] = json.loads((project.folder / page / "summary.json").read_text())
    summary["said"] = done.stdout
    return summary


def needs(folder: str) -> Path:
    if not (SHARED / folder).exists():
        pytest.skip(f"needs ../shared/{folder}, real recordings beside the checkout")
    return SHARED / folder


def test_the_embedded_study_finds_what_was_put_there(project: LiveProject) -> None:
    assert run_study(project, None)["study"] == "live"  # a study of the project is taken before it
    own, away = project.folder / "study.toml", project.folder / "away.toml"
    own.rename(away)
    try:
        summary = run_study(project, None)  # with nothing set at all
    finally:
        away.rename(own)
    assert summary["study"] == "simulated"
    # Recording, features of two kinds, evoked; of each kind five more, and two of the group; check, report.
    assert len(summary["jobs"]) == 8 * (1 + 2 + 1 + 2 * 5) + 2 * 2 + 2
    for found in summary["findings"]:
        curve, plane = found["group"]["curve"], found["group"]["generalization"]
        # Patterns are there from 100 to 400 ms at study and 250 ms later at test; a wavelet of 5 cycles at
        # 10 Hz reaches about 160 ms to each side.
        reach = 0.04 if found["kind"] == "amplitude" else 0.2
        assert curve["peak"] > 50
        assert curve["p"] <= 0.01
        assert len(curve["windows"]) >= 1
        for start, end in curve["windows"]:
            assert 0.1 - reach <= start <= end <= 0.4 + reach
        assert plane["p"] <= 0.01
        for region in plane["regions"]:
            assert 0.1 - reach <= region["train"][0] <= region["train"][1] <= 0.4 + reach
            assert 0.35 - reach <= region["test"][0] <= region["test"][1] <= 0.65 + reach
    # Five bins of amplitude lie before the event, one of power: three standard errors of their means.
    for kind, reach, allowed in [("amplitude", 0.0, 3.0), ("power", 0.1, 6.5)]:
        of_kind = [s for s in summary["scores"] if s["kind"] == kind]
        times = np.array(of_kind[0]["train_times"])
        curves = np.array([scores["curve"] for scores in of_kind])
        assert (curves[:, (times > 0.15) & (times < 0.35)].max(axis=1) > 55).all()
        assert abs(curves[:, times < -reach].mean() - 100 / 3) < allowed


def test_thesis_data_give_the_thesis_confusions(project: LiveProject) -> None:
    reference = needs("reference")
    data = project.folder / "thesis"
    sizes = "--subjects 2 --trials 30 --bins 6 --amp-bins 8 --channels 8 --freqs 10 --seed 2021"
    subprocess.run(
        [sys.executable, str(reference / "simulate_study.py"), str(data), *sizes.split()],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    summary = run_study(project, ROOT / "studies" / "thesis.toml", THESIS_DATA=str(data))
    expected = json.loads((reference / "thesis_confusions.json").read_text())["confusion"]
    compared = 0
    for job in summary["jobs"]:
        if job["stage"] not in ("train", "apply"):
            continue
        kind = project.record(job["job"])["facts"]["kind"]
        name = {"train": "study_data" + "_amp" * (kind == "amplitude"), "apply": "apply"}[job["stage"]]
        ours = np.load(project.job_folder(job["job"]) / "confusions.npy")
        theirs = np.array(expected[f"{job['participant']}_{name}_confmat"])
        assert ours.shape == theirs.shape
        moved = np.abs(ours - theirs).sum() / 2
        assert moved <= 0.002 * theirs.sum(), f"{job['participant']} {name}: {moved} predictions differ"
        compared += 1
    assert compared == 6


# Peak scores that are well above chance, with room for the default estimator to differ from those in the
# data's own README (AUC of LDA: n400 0.67 at 0.38 s, eegbci 0.98 at 0.30 s and 1.00 when applied).
@pytest.mark.parametrize(
    ("name", "participants", "over_time", "generalization"),
    [("n400", 1, 60, 60), ("eegbci", 1, 75, 80), ("n170", 4, 52, 52)],
)
def test_real_recordings_run_to_the_report(
    project: LiveProject, name: str, participants: int, over_time: float, generalization: float
) -> None:
    summary = run_study(project, ROOT / "studies" / f"{name}.toml", SHORTLOOP_DATA=str(needs("data")))
    (found,) = summary["findings"]
    assert found["group"]["participants"] == participants
    assert found["group"]["curve"]["peak"] > over_time
    assert found["group"]["generalization"]["peak"] > generalization
    page = (project.folder / "results" / name / "report.html").read_text(encoding="utf-8")
    if participants == 1:
        assert found["group"]["level"] == "participant"
        assert "one participant" in page.lower()
    if name == "n170":
        assert "180 of 340 trials" in page  # of s03, recorded in two sessions' files
