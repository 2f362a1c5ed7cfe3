"""Workers whose results could differ are refused, with a table of what differs."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from blake3 import blake3

from shortloop.base.errors import TransientError
from shortloop.units.facts import Facts, check_alike, check_same_code, facts_here

HERE: Facts = {
    "host": "here",
    "versions": {"python": "3.11.7", "shortloop": "0.1.0", "numpy": "2.4.6"},
    "kernels": {"libopenblas 0.3": "SkylakeX", "numpy": "AVX2 SSE"},
}


def other(**changes: str) -> Facts:
    found = deepcopy(HERE)
    found["host"] = "node-7"
    for name, value in changes.items():
        where = found["versions"] if name in found["versions"] else found["kernels"]
        where[name] = value
    return found


def test_the_same_is_taken() -> None:
    check_alike(HERE, other(), False)
    assert np.version.version in facts_here(["numpy"])["versions"]["numpy"]
    check_alike(facts_here(["numpy", "pandas"]), facts_here(["numpy"]), False)


def test_another_copy_of_a_module_is_named_if_it_is_another(tmp_path: Path) -> None:
    """The same file that changed meanwhile is none: its job is built again."""
    here, link, there = (tmp_path / name for name in ("here.py", "link.py", "there.py"))
    here.write_text("FACTOR = 1\n")
    link.symlink_to(here)

    def check(file: Path, text: str) -> None:
        loaded = {"steps": (str(file), blake3(text.encode()).hexdigest()), "other": ("other.py", "")}
        lines = [{"opened": "x"}, {"loaded": loaded}]
        notes = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        check_same_code({"steps": here}, notes, "node-7")

    check(here, "FACTOR = 2\n")
    check(link, "FACTOR = 2\n")
    check(there, "FACTOR = 1\n")
    with pytest.raises(TransientError) as caught:
        check(there, "FACTOR = 2\n")
    for each in ("copy of steps", str(there), "node-7", str(here)):
        assert each in caught.value.message


@pytest.mark.parametrize("library", ["python", "shortloop", "numpy"])
def test_another_version_is_named(library: str) -> None:
    with pytest.raises(TransientError) as caught:
        check_alike(HERE, other(**{library: "9.9"}), True)
    (line,) = [each.split() for each in caught.value.message.splitlines() if library in each.split()[:1]]
    assert line == [library, HERE["versions"][library], "9.9"]
    assert "node-7" in caught.value.message


def test_a_library_that_a_worker_lacks_is_named() -> None:
    found = facts_here(["numpy", "no_such_library"])
    assert found["versions"]["no_such_library"] == "not installed"
    here = deepcopy(HERE)
    here["versions"]["no_such_library"] = "1.0"
    there = other()
    there["versions"]["no_such_library"] = "not installed"
    with pytest.raises(TransientError, match=r"no_such_library +1.0 +not installed"):
        check_alike(here, there, False)


def test_another_kind_of_processor_is_refused_unless_it_is_allowed() -> None:
    there = other(numpy="2.4.6")
    there["kernels"]["libopenblas 0.3"] = "Haswell"
    with pytest.raises(TransientError, match=r"SkylakeX +Haswell"):
        check_alike(HERE, there, False)
    check_alike(HERE, there, True)


def test_what_only_one_of_them_has_loaded_is_no_difference() -> None:
    there = other()
    del there["kernels"]["libopenblas 0.3"]
    there["kernels"]["numba"] = "skylake"
    check_alike(HERE, there, False)


def test_kernels_are_known_here() -> None:
    kernels = facts_here([])["kernels"]
    assert kernels["numpy"]
    assert any("openblas" in name for name in kernels), kernels
