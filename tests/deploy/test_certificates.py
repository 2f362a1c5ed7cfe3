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


def holds(*options: str | Path) -> bool:
    return openssl("verify", *options).strip().endswith(": OK")


def test_there_are_certificates_and_keys_that_only_their_owner_reads(made: Path) -> None:
    kinds = ("pem", "key")
    assert {*contents(made)} == {f"{name}.{kind}" for name in ("ca", *ROLES) for kind in kinds}
    assert {file.stat().st_mode & 0o777 for file in made.glob("*.key")} == {0o600}
    assert made.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("role", ROLES)
def test_the_authority_signed_them_for_their_purposes(made: Path, role: str) -> None:
    """A client cannot pose as a scheduler, and no certificate can sign others."""
    signed = ("-CAfile", made / "ca.pem", made / f"{role}.pem")
    assert holds("-x509_strict", *signed)
    assert holds("-purpose", "sslclient", *signed)
    assert holds("-purpose", "sslserver", *signed) == (role != "client")
    assert "CA:FALSE" in openssl("x509", "-in", made / f"{role}.pem", "-noout", "-text")


@pytest.mark.parametrize(
    ("host", "match"),
    [
        *((name, "does match") for name in ("scheduler.example", "one.cluster.example", "localhost")),
        *((address, "does match") for address in ("192.0.2.7", "2001:db8::7", "127.0.0.1")),
        ("other.example", "does NOT match"),
    ],
)
def test_they_hold_for_their_hosts_and_no_others(made: Path, host: str, match: str) -> None:
    check = "-checkip" if re.fullmatch(r"[\d.]+|[\da-f:]+", host) else "-checkhost"
    assert match in openssl("x509", "-in", made / "worker.pem", "-noout", check, host)


def test_they_last_as_long_as_is_said(tmp_path: Path) -> None:
    make_certificates(tmp_path, "a.example", options=["--days", "3"])
    days = 24 * 60 * 60
    for later, ends in ((2 * days, "will not expire"), (4 * days, "will expire")):
        said = openssl("x509", "-in", tmp_path / "client.pem", "-noout", "-checkend", str(later))
        assert ends in said


def test_they_are_replaced_and_renewed_only_if_asked(tmp_path: Path) -> None:
    make_certificates(tmp_path, "a.example")
    first = contents(tmp_path)
    assert "--renew or --force" in refused(tmp_path, "b.example")
    assert contents(tmp_path) == first
    make_certificates(tmp_path, "b.example", options=["--renew"])
    renewed = contents(tmp_path)
    assert {name for name in first if first[name] == renewed[name]} == {"ca.pem", "ca.key"}
    assert holds("-CAfile", tmp_path / "ca.pem", tmp_path / "worker.pem")
    make_certificates(tmp_path, "b.example", options=["--force"])
    forced = contents(tmp_path)
    assert first.keys() == renewed.keys() == forced.keys()
    assert not {name for name in forced if forced[name] == renewed[name]}
    (tmp_path / "ca.pem").unlink()
    assert "--renew or --force" in refused(tmp_path, "b.example")
    assert contents(tmp_path) == {name: data for name, data in forced.items() if name != "ca.pem"}


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
