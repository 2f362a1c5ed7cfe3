"""Which exax patches are for; the server reads few jobs itself, and has processes read many."""

from __future__ import annotations

import os

import accelerator
import pytest
from accelerator import control
from packaging.requirements import Requirement
from source_tree import PROJECT

from shortloop.base.errors import InputError
from shortloop.exax.patches import processes


@pytest.mark.parametrize(("number", "is_own"), [(3, True), (4, False)])
def test_who_reads_jobs(number: int, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "multiprocessing", control.multiprocessing)
    monkeypatch.setattr(processes, "FEW", 3)
    processes.read_few_jobs_itself()
    pool = control.multiprocessing.get_context("spawn").Pool(initializer=os.getpid)
    for share in (pool.imap, pool.imap_unordered):
        assert sorted(share(abs, range(number), chunksize=64)) == [*range(number)]
        assert (set(share(process_of, range(number), chunksize=64)) == {os.getpid()}) == is_own
    pool.close()


def process_of(_: int) -> int:
    return os.getpid()


def test_an_unknown_version_of_exax_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package requires a known one."""
    unknown = ["2025.9.5", "2025.11.10", "2025.11.12", "2025.12.1", "2026.1"]
    processes.refuse_unknown_version()
    for version in (*unknown, "2025.11.11.dev1", None):
        monkeypatch.setattr(accelerator, "__version__", version)
        with pytest.raises(InputError, match=r"version of exax") as caught:
            processes.refuse_unknown_version()
        assert str(version or "no version") in str(caught.value)
        assert processes.KNOWN_VERSION in str(caught.value)
    (required,) = [each for each in map(Requirement, PROJECT["dependencies"]) if each.name == "accelerator"]
    found = required.specifier.filter([*unknown, processes.KNOWN_VERSION])
    assert [*found] == [processes.KNOWN_VERSION]
