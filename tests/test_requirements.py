"""What is imported is required, and what is required is pinned."""

from __future__ import annotations

import configparser
import re
import sys

import pytest
from house import METHODS, MODULES, ROOT, SCRIPTS, imports_of
from packaging.requirements import Requirement


def requirements() -> dict[str, str]:
    """Pins by normalised name."""
    pins = {}
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, sign, version = line.partition("==")
            assert sign, f"{line!r} is no pin"
            assert re.fullmatch(r"\d[\w.+!]*", version), f"{line!r} is no exact version"
            pins[normalised(name)] = version
    return pins


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("group", ["install_requires", "dev"])
def test_all_that_is_required_is_pinned(group: str) -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    text = parser["options"][group] if group in parser["options"] else parser["options.extras_require"][group]
    pins = requirements()
    wanted = [Requirement(line) for line in text.split("\n") if line]
    assert wanted
    for requirement in wanted:
        assert pins[normalised(requirement.name)] in requirement.specifier


def test_all_that_is_imported_is_required() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    required = {
        normalised(re.split(r"[ <>=]", line)[0])
        for line in parser["options"]["install_requires"].split("\n")
        if line
    }
    imported = {
        name.split(".")[0]
        for file in [*MODULES, *METHODS, *SCRIPTS]
        for name in imports_of(file)
        if name.split(".")[0] not in sys.stdlib_module_names
    } - {"shortloop", "build_scripts", "methods", "dev"}
    distributions = {"sklearn": "scikit-learn", "PIL": "pillow", "pydantic_core": "pydantic"}
    assert {normalised(distributions.get(name, name)) for name in imported} - required == set()
