"""One BLAS thread in each process, whatever the environment said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jobs_project import fresh_python

from shortloop.stages.threads import VARIABLES, check_single_thread

MANY = dict.fromkeys(VARIABLES, "8")
USE_THEM = """
import json, os
import numpy, scipy.linalg, sklearn.linear_model
from shortloop.stages.threads import check_single_thread
import threadpoolctl
before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
report = check_single_thread()
after = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
a = numpy.random.default_rng(0).random((400, 400))
(a @ a).sum(), scipy.linalg.eigvalsh(a + a.T)
still = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
print(json.dumps({"before": before, "after": after, "still": still, "report": report,
                  "again": check_single_thread(), "numba": os.environ["NUMBA_NUM_THREADS"]}))
"""


def pools(code: str, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fresh_python(code, folder, **MANY))
    return found


@pytest.mark.parametrize(
    "package",
    [
        "shortloop.prepare",
        *(pytest.param(each, marks=pytest.mark.slow) for each in (None, "build_scripts", "dev")),
    ],
)
def test_libraries_that_are_loaded_later_use_one_thread(tmp_path: Path, package: str | None) -> None:
    """Setting it is what the first package of methods does first of all."""
    how = (
        f"import {package}"
        if package
        else ("from shortloop.stages.threads import set_single_thread; set_single_thread()")
    )
    found = pools(how + USE_THEM, tmp_path)
    assert len(found["before"]) >= 2  # OpenBLAS and OpenMP at least
    assert set(found["before"]) == set(found["still"]) == {1}
    assert {(pool["threads"], pool["threads_used"]) for pool in found["report"]} == {(1, 1)}
    assert found["numba"] == "1"


def test_libraries_that_came_with_more_are_brought_down(tmp_path: Path) -> None:
    found = pools(USE_THEM, tmp_path)
    if max(found["before"]) == 1:
        pytest.skip("a machine of one core loads no pool with more than one thread")
    assert set(found["after"]) == set(found["still"]) == {1}
    assert [pool["threads"] for pool in found["report"]] == found["before"]
    assert {pool["threads_used"] for pool in found["report"]} == {1}
    assert {pool["threads"] for pool in found["again"]} == {1}


LATER = """
import json
from shortloop.stages.threads import check_single_thread, found_pools
import numpy
found_pools()
before = check_single_thread()
import scipy.linalg  # has a library of its own, that was not there before
after = check_single_thread()
import threadpoolctl
threadpoolctl.threadpool_limits(2)
many = check_single_thread()
print(json.dumps([before, after, many, [p["num_threads"] for p in threadpoolctl.threadpool_info()]]))
"""


def test_what_was_loaded_or_set_since_the_last_look_is_seen(tmp_path: Path) -> None:
    before, after, many, now = json.loads(fresh_python(LATER, tmp_path, **MANY))
    assert 0 < len(before) < len(after)
    assert {pool["threads_used"] for pool in after} == {1}
    assert {pool["threads"] for pool in many} == {2}
    assert {pool["threads_used"] for pool in many} == {1} == set(now)


def test_a_pool_that_does_not_obey_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import threadpoolctl

    stubborn = [{"prefix": "libbroken", "version": "1", "num_threads": 4}]
    monkeypatch.setattr(threadpoolctl.ThreadpoolController, "info", lambda controller: stubborn)
    monkeypatch.setattr(threadpoolctl, "threadpool_limits", lambda number: None)
    with pytest.raises(RuntimeError, match="libbroken"):
        check_single_thread()


def test_setting_threads_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, json; from shortloop.stages.threads import set_single_thread; set_single_thread();"
        "print(json.dumps(sorted(sys.modules)))"
    )
    loaded = set(json.loads(fresh_python(code, tmp_path)))
    assert not loaded & {"numpy", "scipy", "sklearn", "threadpoolctl", "pydantic", "rich", "accelerator"}
