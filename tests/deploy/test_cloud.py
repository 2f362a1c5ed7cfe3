"""Servers of a cloud start what the compose file says, and only the driver reaches the scheduler.

The provider of the cloud is not loaded: what needs none of it is worked out by Terraform itself.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from deploy_compose import DEPLOY

FOLDER = DEPLOY / "terraform"
GIVEN = {
    "driver": '["198.51.100.7/32"]',
    "ssh_public_key": "ssh-ed25519 key",
    "image": "registry.example/shortloop:1",
    "workers": "3",
    "registry": '{"auths": {"registry.example": {"auth": "dXNlcjp0b2tlbg=="}}}',
}
ASKED = """
output "scheduler" { value = nonsensitive(local.scheduler_start) }
output "worker" { value = nonsensitive(local.worker_start) }
output "addresses" { value = concat([local.scheduler_address], local.worker_addresses) }
"""
needs_terraform = pytest.mark.skipif(shutil.which("terraform") is None, reason="terraform is not installed")


def terraform(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["terraform", *options], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The parts that need no provider: variables, and what servers do when they start."""
    folder = tmp_path / "terraform"
    folder.mkdir()
    for name in ("variables.tf", "start.tf", "start.yaml"):
        shutil.copy(FOLDER / name, folder)
    for name in ("compose.dask.yaml", "dask.yaml"):
        shutil.copy(DEPLOY / name, tmp_path)
    (folder / "asked.tf").write_text(ASKED)
    done = terraform(folder, "init", "-no-color")
    assert done.returncode == 0, done.stderr
    return folder


def applied(module: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    given = [f"-var={name}={value}" for name, value in {**GIVEN, **changed}.items()]
    return terraform(module, "apply", "-no-color", "-auto-approve", *given)


def outputs(module: Path) -> dict[str, Any]:
    done = terraform(module, "output", "-json")
    return {name: each["value"] for name, each in json.loads(done.stdout).items()}


@needs_terraform
def test_servers_start_what_the_compose_file_says(module: Path) -> None:
    assert terraform(FOLDER, "fmt", "-check", "-recursive", "-no-color").stdout == ""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    done = applied(module)
    assert done.returncode == 0, done.stderr
    found = outputs(module)
    assert found["addresses"] == ["10.0.1.2", "10.0.1.10", "10.0.1.11", "10.0.1.12"]
    for service in ("scheduler", "worker"):
        assert len(found[service]) < 32 * 1024  # as much as the cloud takes
        start = yaml.safe_load(found[service])
        files = {each["path"]: each for each in start["write_files"]}
        for name in ("compose.dask.yaml", "dask.yaml"):
            written = base64.b64decode(files[f"/etc/shortloop/{name}"]["content"])
            assert written == (DEPLOY / name).read_bytes()
        variables = dict(line.split("=") for line in files["/etc/shortloop/.env"]["content"].splitlines())
        assert variables["SHORTLOOP_IMAGE"] == GIVEN["image"]
        assert variables["SHORTLOOP_SCHEDULER"] == "10.0.1.2:8786"
        text = (DEPLOY / "compose.dask.yaml").read_text()
        assert all(f"${{{name}" in text for name in variables)
        assert all(isinstance(command, str) for command in start["runcmd"])
        assert start["runcmd"][-1].endswith(f"up -d --no-build {service}")
        assert ("/etc/exports.d/shortloop.exports" in files) == (service == "scheduler")
        assert variables["SHORTLOOP_CERTIFICATES"].startswith("/etc/")  # not by NFS
        mounts = [place for place, each in enumerate(start["runcmd"]) if each == "mount /srv/shortloop"]
        assert len(mounts) == (service == "scheduler")
        login = base64.b64decode(files["/root/.docker/config.json"]["content"])
        assert login.decode() == GIVEN["registry"]
        assert files["/root/.docker/config.json"]["permissions"] == "0600"
    assert applied(module, registry="").returncode == 0
    assert "config.json" not in outputs(module)["worker"]


@needs_terraform
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("driver", "[]"),
        ("driver", '["0.0.0.0/0"]'),
        ("driver", '["::/0"]'),
        ("driver", '["198.51.100.7"]'),
        ("workers", "0"),
        ("workers", "201"),
        ("disk", "5"),
        ("folder", "/srv/my analysis"),
        ("folder", "srv"),
    ],
)
def test_what_is_dangerous_or_cannot_work_is_refused(module: Path, name: str, value: str) -> None:
    done = applied(module, **{name: value})
    assert done.returncode == 1
    assert "Invalid value for variable" in done.stderr


def test_variables_are_used() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.tf")))
    names = re.findall(r'^variable "(\w+)" {\n', text, flags=re.M)
    assert len(names) >= 8
    without_checks = re.sub(r"^  validation \{.*?^  \}", "", text, flags=re.M | re.S)
    assert [name for name in names if f"var.{name}" not in without_checks] == []


def test_only_the_driver_gets_in() -> None:
    text = (FOLDER / "main.tf").read_text(encoding="utf-8")
    assert set(re.findall(r"source_ips\s+= (.*)", text)) == {"var.driver"}
    servers = text.split('resource "hcloud_server"')[1:]
    guards = [re.findall(r"firewall_ids = \[hcloud_firewall\.(\w+)\.id\]", each) for each in servers]
    assert guards == [["scheduler"], ["worker"]]
