"""certificates.sh makes certificates that hold, in keys that nobody else reads, and replaces none unasked."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from deploy_compose import DEPLOY, make_certificates

ROLES = ("scheduler", "worker", "client")
SCRIPT = DEPLOY / "certificates.sh"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates") / "a folder" / "with blanks"
    return make_certificates(folder, "scheduler.example", "*.cluster.example", "192.0.2.7", "2001:db8::7")


def openssl(*options: str | Path) -> str:
    done = subprocess.run(["openssl", *options], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def refused(*options: str | Path) -> str:
    done = subprocess.run([SCRIPT, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    return done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_nothing_else_is_left(made: Path) -> None:
    assert {file.name for file in made.iterdir()} == {
        f"{name}.{kind}" for name in ("ca", *ROLES) for kind in ("pem", "key")
    }


def test_only_their_owner_reads_keys(made: Path) -> None:
    assert {file.stat().st_mode & 0o777 for file in made.glob("*.key")} == {0o600}
    assert made.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("role", ROLES)
def test_the_authority_signed_them(made: Path, role: str) -> None:
    said = openssl("verify", "-x509_strict", "-CAfile", made / "ca.pem", made / f"{role}.pem")
    assert said.strip().endswith(": OK")


@pytest.mark.parametrize(("role", "purpose", "holds"), [
    ("scheduler", "sslserver", True),
    ("scheduler", "sslclient", True),
    ("worker", "sslserver", True),
    ("worker", "sslclient", True),
    ("client", "sslclient", True),
    ("client", "sslserver", False),
])  # fmt: skip
def test_a_client_cannot_pose_as_a_scheduler(made: Path, role: str, purpose: str, holds: bool) -> None:
    said = openssl("verify", "-purpose", purpose, "-CAfile", made / "ca.pem", made / f"{role}.pem")
    assert said.strip().endswith(": OK") == holds


@pytest.mark.parametrize("role", ROLES)
def test_no_certificate_can_sign_others(made: Path, role: str) -> None:
    assert "CA:FALSE" in openssl("x509", "-in", made / f"{role}.pem", "-noout", "-text")


@pytest.mark.parametrize("host", ["scheduler.example", "one.cluster.example", "localhost"])
def test_they_hold_for_names(made: Path, host: str) -> None:
    assert "does match" in openssl("x509", "-in", made / "worker.pem", "-noout", "-checkhost", host)


@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8::7", "127.0.0.1"])
def test_they_hold_for_addresses(made: Path, address: str) -> None:
    assert "does match" in openssl("x509", "-in", made / "worker.pem", "-noout", "-checkip", address)


def test_they_hold_for_no_other_host(made: Path) -> None:
    said = openssl("x509", "-in", made / "worker.pem", "-noout", "-checkhost", "other.example")
    assert "does NOT match" in said


def test_they_last_as_long_as_is_said(tmp_path: Path) -> None:
    make_certificates(tmp_path, "a.example", options=["--days", "3"])
    days = 24 * 60 * 60
    for later, ends in ((2 * days, "will not expire"), (4 * days, "will expire")):
        said = openssl("x509", "-in", tmp_path / "client.pem", "-noout", "-checkend", str(later))
        assert ends in said


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    make_certificates(tmp_path, "a.example")
    before = contents(tmp_path)
    assert "--renew or --force" in refused(tmp_path, "b.example")
    (tmp_path / "ca.pem").unlink()
    assert "--renew or --force" in refused(tmp_path, "b.example")
    assert contents(tmp_path) == {name: data for name, data in before.items() if name != "ca.pem"}


def test_all_is_replaced_when_asked(tmp_path: Path) -> None:
    make_certificates(tmp_path, "a.example")
    before = contents(tmp_path)
    make_certificates(tmp_path, "b.example", options=["--force"])
    after = contents(tmp_path)
    assert before.keys() == after.keys()
    assert not {name for name in before if before[name] == after[name]}


def test_certificates_can_be_renewed_by_the_authority_that_is_there(tmp_path: Path) -> None:
    make_certificates(tmp_path, "a.example")
    before = contents(tmp_path)
    make_certificates(tmp_path, "b.example", options=["--renew"])
    after = contents(tmp_path)
    assert {name for name in before if before[name] == after[name]} == {"ca.pem", "ca.key"}
    assert openssl("verify", "-CAfile", tmp_path / "ca.pem", tmp_path / "worker.pem").strip().endswith(": OK")


def test_nothing_is_renewed_without_an_authority(tmp_path: Path) -> None:
    assert "--renew needs ca.pem and ca.key" in refused("--renew", tmp_path, "a.example")


@pytest.mark.parametrize(
    "host", ["tls://a.example", "a.example:8786", "a,DNS:b", "a b", "", "a\nb", "-a", "1.2.3.4.5/8"]
)
def test_what_is_no_host_is_refused(tmp_path: Path, host: str) -> None:
    assert "neither a name nor an address" in refused(tmp_path, host)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [[], ["folder"], ["--days", "0", "folder", "a"], ["--other", "folder", "a"]]
)
def test_what_is_no_use_is_refused(options: list[str]) -> None:
    assert re.search(r"HOST|--days|no such option", refused(*options))


def test_it_says_what_to_copy_where(tmp_path: Path) -> None:
    done = subprocess.run([SCRIPT, tmp_path, "a.example"], capture_output=True, text=True, check=True)
    for role in ROLES:
        assert re.search(rf"to .*ca\.pem +{role}\.pem +{role}\.key", done.stdout)
    assert not re.search(r"to .*ca\.key", done.stdout)


def test_a_linter_finds_nothing() -> None:
    linter = shutil.which("shellcheck")
    if linter is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run([linter, SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
