"""Compose files keep paths, open no page to others, and say to compose what they say to these tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import cache

import pytest
from deploy_compose import DEPLOY, MissingVariable, services_of

pytest.importorskip("yaml", reason="PyYAML is not installed")

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
    assert said["working_dir"] == PROJECT
    assert said["restart"] == "unless-stopped"
    assert said["init"] is True
    assert said["healthcheck"]["test"][0] == "CMD"
    assert said["network_mode"] == "host"
    assert int(said["ulimits"]["nofile"]["soft"]) == int(said["ulimits"]["nofile"]["hard"]) >= 65536
    assert said["user"] == "1000:1000"
    assert said["image"] == "shortloop"
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


@cache
def compose() -> tuple[str, ...] | None:
    """Compose as a command of its own, or as a part of docker."""
    if shutil.which("docker-compose"):
        return ("docker-compose",)
    docker = shutil.which("docker")
    done = docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False)
    return ("docker", "compose") if done and done.returncode == 0 else None


@pytest.mark.parametrize("name", FILES)
def test_compose_reads_the_same(name: str) -> None:
    command = compose()
    if command is None:
        pytest.skip("docker compose is not installed")
    done = subprocess.run(
        [*command, "-f", DEPLOY / name, "config", "--format", "json"],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **GIVEN},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["services"]
    said = services_of(name, GIVEN)
    assert found.keys() == said.keys()
    for service, each in said.items():
        # What it writes is to be read by compose again, so it doubles what stands for itself.
        assert [part.replace("$$", "$") for part in found[service]["command"]] == each["command"]
        assert found[service]["healthcheck"]["test"] == each["healthcheck"]["test"]
        assert found[service].get("environment", {}) == each.get("environment", {})
        assert found[service]["volumes"][0]["target"] == PROJECT
