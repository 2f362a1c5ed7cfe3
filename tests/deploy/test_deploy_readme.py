"""The page on clusters says what the files take, and names files that are there."""

from __future__ import annotations

import re
import subprocess

import pytest
from deploy_compose import DEPLOY

TEXT = (DEPLOY / "README.md").read_text(encoding="utf-8")
COMPOSE = {name: (DEPLOY / f"compose.{name}.yaml").read_text(encoding="utf-8") for name in ("dask", "ray")}


BLOCKS = [block[1:] for block in TEXT.split("```")[1::2] if block.startswith("\n")]


def taken() -> set[tuple[str, str]]:
    """Variables of compose files, with what follows their names."""
    return {found for text in COMPOSE.values() for found in re.findall(r"\$\{(SHORTLOOP_\w+)([^$}]*)", text)}


def test_all_variables_are_described() -> None:
    described = re.findall(r"^\| `(SHORTLOOP_\w+)` \|", TEXT, flags=re.M)
    assert set(described) == {name for name, _ in taken()}


def test_defaults_are_as_described() -> None:
    """Those that are values, and not words on where a value comes from."""
    described = re.findall(r"^\| `(SHORTLOOP_\w+)` \|.*\| `([^`]+)` \|$", TEXT, flags=re.M)
    assert len(described) >= 10
    assert not [name for name, default in described if (name, f":-{default}") not in taken()]


def test_files_that_it_names_are_there() -> None:
    named = {*re.findall(r"deploy/([\w./-]+\w)", TEXT), *re.findall(r"`([\w.]+\.(?:yaml|py|sh|tf))`", TEXT)}
    assert len(named) >= 7
    folders = (DEPLOY, DEPLOY / "terraform")
    assert not [name for name in named if not any((folder / name).exists() for folder in folders)]


def test_options_that_it_names_are_there() -> None:
    script = (DEPLOY / "slurm.py").read_text(encoding="utf-8")
    (command,) = re.findall(r"^python \$slurm (.*) -- ", TEXT, flags=re.M)
    assert all(f'"{option}"' in script for option in command.split() if option.startswith("--"))
    variables = (DEPLOY / "terraform" / "variables.tf").read_text(encoding="utf-8")
    for name in re.findall(r"-var '?(\w+)=", TEXT):
        assert f'variable "{name}"' in variables
    outputs = (DEPLOY / "terraform" / "outputs.tf").read_text(encoding="utf-8")
    for name in re.findall(r"\brented (\w+)", TEXT):
        assert f'output "{name}"' in outputs


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_shell_can_read_the_commands(block: str) -> None:
    done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
