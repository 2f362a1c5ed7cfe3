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
    assert {*contents(made)} == {f"{name}.{kind}" for name in ("ca", *ROLES) for kind in ("pem", "key")}
    assert {file.stat().st_mode & 0o777 for file in made.glob("*.key")} == {0o600}
    assert made.stat().st_mode & 0o077 == 0


def test_each_host_has_a_key_of_its_own(made: Path) -> None:
    hosts = ("one.example", "192.0.2.9")
    subprocess.run([SCRIPT, "--renew", "--each", made, *hosts], check=True, capture_output=True)
    try:
        keys = {(made / folder / "worker.key").read_bytes() for folder in ("", *hosts)}
        assert len(keys) == 3
        for host, other, check in (*((*hosts, "-checkhost"),), (*hosts[::-1], "-checkip")):
            signed = made / host / "worker.pem"
            assert holds("-x509_strict", "-CAfile", made / host / "ca.pem", signed)
            said = openssl("x509", "-in", signed, "-noout", check, host)
            assert "does match" in said
            assert other not in openssl("x509", "-in", signed, "-noout", "-text")
            assert (made / host / "worker.key").stat().st_mode & 0o777 == 0o600
            assert {*contents(made / host)} == {"ca.pem", "worker.pem", "worker.key"}
    finally:
        make_again = ("scheduler.example", "*.cluster.example", "192.0.2.7", "2001:db8::7")
        subprocess.run([SCRIPT, "--renew", made, *make_again], check=True, capture_output=True)
        for host in hosts:
            shutil.rmtree(made / host)
    assert "one by one" in refused("--each", made / "new", "*.cluster.example")


def test_the_authority_signed_them_for_their_purposes(made: Path) -> None:
    """A client cannot pose as a scheduler, and no certificate can sign others."""
    for role in ROLES:
        signed = ("-CAfile", made / "ca.pem", made / f"{role}.pem")
        assert holds("-x509_strict", *signed)
        assert holds("-purpose", "sslclient", *signed)
        assert holds("-purpose", "sslserver", *signed) == (role != "client")
        assert "CA:FALSE" in openssl("x509", "-in", made / f"{role}.pem", "-noout", "-text")


def test_they_hold_for_their_hosts_and_no_others(made: Path) -> None:
    names, addresses = "scheduler.example one.cluster.example localhost", "192.0.2.7 2001:db8::7 127.0.0.1"
    for host in [*names.split(), *addresses.split(), "other.example"]:
        check = "-checkip" if host in addresses else "-checkhost"
        match = "does NOT match" if host == "other.example" else "does match"
        assert match in openssl("x509", "-in", made / "worker.pem", "-noout", check, host)


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


def test_what_is_no_host_or_no_use_is_refused(tmp_path: Path) -> None:
    for host in ("tls://a.example", "a.example:8786", "a,DNS:b", "a b", "", "a\nb", "-a", "1.2.3.4.5/8"):
        assert "neither a name nor an address" in refused(tmp_path, host)
    assert "--renew needs ca.pem and ca.key" in refused("--renew", tmp_path, "a.example")
    assert list(tmp_path.iterdir()) == []
    for options in ([], ["folder"], ["--days", "0", "folder", "a"], ["--other", "folder", "a"]):
        assert re.search(r"HOST|--days|no such option", refused(*options))


def test_they_last_as_long_as_is_said_and_it_says_what_to_copy_where(tmp_path: Path) -> None:
    command = [str(SCRIPT), "--days", "3", str(tmp_path), "a.example"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for role in ROLES:
        assert re.search(rf"to .*ca\.pem +{role}\.pem +{role}\.key", said)
    assert not re.search(r"to .*ca\.key", said)
    for days, ends in ((2, "will not expire"), (4, "will expire")):
        later = str(days * 24 * 60 * 60)
        assert ends in openssl("x509", "-in", tmp_path / "client.pem", "-noout", "-checkend", later)
