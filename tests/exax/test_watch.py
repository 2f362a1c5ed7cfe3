"""Which files of a project are noted when a job opens them."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs_project import write_configuration

from shortloop.exax.patches import watch


@pytest.mark.parametrize("above", ["project", ".hidden/project"])
def test_what_may_be_data_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, above: str) -> None:
    project = tmp_path / above
    project.mkdir(parents=True)
    write_configuration(project)
    monkeypatch.chdir(project)
    is_watched = watch._watched_files()
    watched = ["data.csv", "methods/table.txt", "methods/helper.py", "a b/ü.npz", "results/x/summary.json"]
    assert [name for name in watched if not is_watched(str(project / name))] == []
    others = [
        "workdirs/main/main-1/x.npy",
        "workdirs/.cache/code/parsed.json",
        "elsewhere/other/other-1/x.npy",  # of the other workdir
        ".git/config",
        ".socket.dir/server",
        "methods/__pycache__/a.pyc",
        "accelerator.conf",
    ]
    assert [name for name in others if is_watched(str(project / name))] == []
    assert not is_watched(str(tmp_path / "beside.csv"))
    assert not is_watched(watch.__file__)
