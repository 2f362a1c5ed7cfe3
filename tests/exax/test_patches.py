"""Which exax patches are for; the server reads few jobs itself, and has processes read many."""

from __future__ import annotations

import os

import accelerator
import pytest
from packaging.requirements import Requirement
from source_tree import PROJECT

from shortloop.base.errors import InputError
from shortloop.exax.patches import processes


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
