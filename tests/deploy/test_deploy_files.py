"""Files in deploy/: an image of pinned libraries and without root, settings that Dask has, and their page."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from deploy_compose import DEPLOY, MissingVariable, image_environment, services_of
from python_process import finished
from source_tree import ROOT

from shortloop.stages.threads import VARIABLES

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
LINES = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.M).replace("\\\n", " ").splitlines()
PAGE = (DEPLOY / "README.md").read_text(encoding="utf-8")
COMPOSE = [(DEPLOY / f"compose.{name}.yaml").read_text(encoding="utf-8") for name in ("dask", "ray")]


@pytest.mark.parametrize(("linter", "file"), [("hadolint", "Dockerfile"), ("shellcheck", "certificates.sh")])
def test_a_linter_finds_nothing(linter: str, file: str) -> None:
    if shutil.which(linter) is None:
        pytest.skip(f"{linter} is not installed")
    done = subprocess.run([linter, DEPLOY / file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_processes_of_the_image_have_one_thread_and_are_not_those_of_root() -> None:
    of_macs = {"VECLIB_MAXIMUM_THREADS"}
    assert {name for name, value in image_environment().items() if value == "1"} >= {*VARIABLES} - of_macs
    (user,) = [line.split()[1] for line in LINES if line.startswith("USER ")]
    assert int(user) > 0


def test_the_image_copies_all_that_is_installed() -> None:
    """The folders of setup.py; and a change of the project installs no libraries again."""
    copied = {
        name
        for line in LINES
        if line.startswith("COPY ") and "--from" not in line
        for name in line.split()[1:-1]
    }
    assert all((ROOT / name).exists() for name in copied)
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    (folders,) = re.findall(r"^FOLDERS = (\{.*?\})$", setup, flags=re.M | re.S)
    assert {"shortloop", *ast.literal_eval(folders).values()} <= copied
    installs = [line.partition("pip install")[2] for line in LINES if "pip install" in line]
    copies = [place for place, line in enumerate(LINES) if "shortloop shortloop" in line]
    libraries = [place for place, line in enumerate(LINES) if "requirements.txt" in line]
    assert len(installs) == 4
    assert max(libraries) < min(copies)
    assert all("requirements.txt" in options or "--no-deps" in options for options in installs)


def test_the_page_describes_all_variables_and_their_defaults() -> None:
    """Those that are values, and not words on where a value comes from."""
    taken = {found for text in COMPOSE for found in re.findall(r"\$\{(SHORTLOOP_\w+)([^$}]*)", text)}
    assert set(re.findall(r"^\| `(SHORTLOOP_\w+)` \|", PAGE, flags=re.M)) == {name for name, _ in taken}
    defaults = re.findall(r"^\| `(SHORTLOOP_\w+)` \|.*\| `([^`]+)` \|$", PAGE, flags=re.M)
    assert len(defaults) >= 10
    assert not [name for name, default in defaults if (name, f":-{default}") not in taken]


def test_files_and_options_that_the_page_names_are_there() -> None:
    named = {*re.findall(r"deploy/([\w./-]+\w)", PAGE), *re.findall(r"`([\w.]+\.(?:yaml|py|sh|tf))`", PAGE)}
    assert len(named) >= 7
    folders = (DEPLOY, DEPLOY / "terraform")
    assert not [name for name in named if not any((folder / name).exists() for folder in folders)]
    script = (DEPLOY / "slurm.py").read_text(encoding="utf-8")
    (command,) = re.findall(r"^python \$slurm (.*) -- ", PAGE, flags=re.M)
    assert all(f'"{option}"' in script for option in command.split() if option.startswith("--"))
    for kind, pattern in (("variable", r"-var '?(\w+)="), ("output", r"\brented (\w+)")):
        text = (DEPLOY / "terraform" / f"{kind}s.tf").read_text(encoding="utf-8")
        assert [name for name in re.findall(pattern, PAGE) if f'{kind} "{name}"' not in text] == []


def test_a_shell_can_read_the_commands_of_the_page() -> None:
    blocks = [block[1:] for block in PAGE.split("```")[1::2] if block.startswith("\n")]
    assert blocks
    for block in blocks:
        done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), block


def leaves(settings: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name), value


def test_dask_has_each_setting_has_it_otherwise_and_reads_it() -> None:
    """There are settings in Dask's own file that nothing looks at."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    folder = Path(pytest.importorskip("distributed", reason="distributed is not installed").__file__).parent
    said = yaml.safe_load((DEPLOY / "dask.yaml").read_text(encoding="utf-8"))
    defaults = dict(leaves(yaml.safe_load((folder / "distributed.yaml").read_text(encoding="utf-8"))))
    files = [*folder.glob("*.py"), *(folder / "comm").glob("*.py")]
    sources = "".join(file.read_text(encoding="utf-8") for file in files)
    assert [key for key, value in leaves(said) if defaults[key] == value] == []
    assert [key for key, _ in leaves(said) if f'"{".".join(key)}"' not in sources] == []
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = yaml.safe_load((folder / "distributed-schema.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(said, schema)


FILES = ("compose.dask.yaml", "compose.ray.yaml")
PROJECT = "/srv/my analysis"
GIVEN = {"SHORTLOOP_PROJECT": PROJECT, "SHORTLOOP_NODE": "192.0.2.7"}
EACH = [(name, service) for name in FILES for service in services_of(name, GIVEN)]
NAMED = [f"{name.split('.')[1]}-{service}" for name, service in EACH]
each_service = pytest.mark.parametrize(("name", "service"), EACH, ids=NAMED)


@each_service
def test_a_service_is_set_up_as_the_page_says(name: str, service: str) -> None:
    """In the project's own path, on its machine's network, not as root, with certificates."""
    said = services_of(name, GIVEN)[service]
    assert f"{PROJECT}:{PROJECT}" in said["volumes"]
    assert (said["working_dir"], said["restart"]) == (PROJECT, "unless-stopped")
    assert (said["cap_drop"], said["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert said["init"] is True
    assert said["healthcheck"]["test"][0] == "CMD"
    assert said["network_mode"] == "host"
    assert int(said["ulimits"]["nofile"]["soft"]) == int(said["ulimits"]["nofile"]["hard"]) >= 65536
    assert (said["user"], said["image"]) == ("1000:1000", "shortloop")
    assert (DEPLOY / said["build"]["context"] / said["build"]["dockerfile"]).is_file()
    own, command = "scheduler" if service == "scheduler" else "worker", said["command"]
    found = " ".join([*command, *said.get("environment", {}).values()])
    for file in ("ca.pem", f"{own}.pem", f"{own}.key"):
        assert f"{PROJECT}/certificates/{file}" in found
    assert "ca.key" not in found
    if "ray" in name:
        assert said["environment"]["RAY_USE_TLS"] == "1"
        assert service == "worker" or "--include-dashboard=false" in command
    else:
        assert command[command.index("--dashboard-address") + 1].startswith("127.0.0.1:")


@pytest.mark.parametrize(("name", "wanted"), [(FILES[0], 1), (FILES[1], 2)])
def test_few_variables_have_no_default(name: str, wanted: int) -> None:
    """Compose wants all of a file, even those of services that it does not start."""
    text = (DEPLOY / name).read_text(encoding="utf-8")
    assert len(set(re.findall(r"\$\{(\w+):\?", text))) == wanted
    for missing in re.findall(r"\$\{(\w+):\?", text):
        with pytest.raises(MissingVariable, match=missing):
            services_of(name, {key: value for key, value in GIVEN.items() if key != missing})


COMPOSE_COMMANDS = ("docker", "compose"), ("docker-compose",), ("podman-compose",)


@cache
def compose() -> tuple[str, ...] | None:
    """Return a command that reads today's format of compose, which docker-compose has from version 2 on."""
    for command in COMPOSE_COMMANDS:
        if shutil.which(command[0]):
            done = subprocess.run([*command, "version"], capture_output=True, text=True, check=False)
            if done.returncode == 0 and "docker-compose version 1." not in done.stdout:
                return command
    return None


@pytest.mark.parametrize("name", FILES)
def test_compose_reads_the_same(name: str) -> None:
    command = compose()
    if command is None:
        pytest.skip("no compose of today's format is installed")
    yaml = pytest.importorskip("yaml")
    alone = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **GIVEN}
    done = finished([*command, "-f", DEPLOY / name, "config"], None, alone)
    assert done.returncode == 0, done.stderr
    found = yaml.safe_load(done.stdout)["services"]
    said = services_of(name, GIVEN)
    assert found.keys() == said.keys()
    for service, each in said.items():
        # What it writes is to be read by compose again, so it doubles what stands for itself.
        assert [part.replace("$$", "$") for part in found[service]["command"]] == each["command"]
        assert found[service]["healthcheck"]["test"] == each["healthcheck"]["test"]
        assert found[service].get("environment", {}) == each.get("environment", {})
        first = found[service]["volumes"][0]
        assert (first.split(":")[1] if isinstance(first, str) else first["target"]) == PROJECT
