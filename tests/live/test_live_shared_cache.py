"""Projects that share a cache of jobs: in a folder, over SFTP, and over S3.

SFTP is that of a real sshd. S3 is moto's server, a stand-in for such a store; and Ceph's gateway where it is
installed. Google's store is its emulator. Each is a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from deploy_compose import free_port
from live_project import (
    PATIENCE,
    ROOT,
    SHORTLOOP,
    Done,
    EmptyProject,
    LiveProject,
    in_short_folder,
    script,
    served,
    slowness,
    stages,
)
from store_servers import ceph_gateway, has_ceph, listening
from test_live_datasets import WHOLE, RowsProject

METHODS = stages("""\
# read
@stage
def read(file: File):
    import numpy as np

    return {"x": np.load(file.path)}

# scale
@stage
def scale(of: Job, by: int):
    return {"x": of["x"] * by, "note": "scaled"}

# fit
def rows(of: Job):
    yield from ((int(number), float(value)) for number, value in enumerate(of["x"]))


@stage(units=rows, on_error="keep")
def fit(value, unit, of: Job, power: int, failing: int = -1):
    with open(os.environ["COMPUTED"], "a") as stream:
        stream.write(f"{unit}\\n")
    if unit == failing:
        raise ValueError("of no use")
    return {"fitted": value**power}

# line
@stage
def line(of: Job):
    from helper import Line

    return {"line": Line(float(of["fitted"].sum()))}

# total
@stage
def total(of: Job):
    Path("total.txt").write_text(f"{of['line'].slope} of {of.job[:0]}\\n")
    return {"total": of["line"].slope, "text": Path("total.txt")}
""")
HELPER = """\
class Line:
    def __init__(self, slope):
        self.slope = slope
"""
BODY = """\
read = run.build("read", file=run.file("data/x.npy"))
scale = run.build("scale", of=read, by=asked["by"])
last = run.build("fit", of=scale, power=asked["power"], failing=asked["failing"])
if asked["objects"]:
    last = run.build("total", of=run.build("line", of=last))
return last
"""
ASKED = {"by": 2, "power": 2, "failing": -1, "objects": False}
LIBRARIES = ("accelerator==2025.11.11", "blake3", "numpy", "pydantic", "rich", "threadpoolctl", "typer")
STORES = ("fsspec", "s3fs", "paramiko", "moto[server]")
GOOGLE = ("fsspec==2025.3.0", "gcsfs==2025.3.0", "gcp-storage-emulator")  # later ones ask over TLS, too
SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
SERVER = """\
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
Subsystem sftp internal-sftp
"""


@dataclass
class Remote:
    """A store that projects share, and how they are told of it."""

    address: str
    variables: dict[str, str] = field(default_factory=dict)
    command: tuple[str | Path, ...] = (SHORTLOOP,)

    def given(self, **settings: str) -> dict[str, str]:
        more = {f"SHORTLOOP_CACHE_{name.upper()}": value for name, value in settings.items()}
        return {"SHORTLOOP_CACHE": self.address, **self.variables, **more}


class Sharer(EmptyProject):
    """A recording, what is computed of it, and the shared cache that it uses."""

    sources: ClassVar = {
        **METHODS,
        "helper.py": HELPER,
        "build_scripts/build_shared.py": script(BODY, reads="asked.json"),
        "asked.json": json.dumps(ASKED),
    }
    remote = Remote("")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        np.save(folder / "data/x.npy", np.arange(1.0, 9.0))

    def ask(self, **changes: Any) -> None:
        self.write("asked.json", json.dumps({**ASKED, **changes}))

    def call(self, *arguments: str, **settings: str) -> Done:
        """Run a command with the shared cache."""
        return self.shell(*self.remote.command, *arguments, **self.remote.given(**settings))

    def go(self, **settings: str) -> tuple[list[str], int, str]:
        """Run it; the stages that were built, how many jobs were taken, and all that it said."""
        done = self.call("run", "shared", **settings).ok()
        taken = re.findall(r"^(\d+) jobs? taken from the shared cache$", done.stdout, re.M)
        built = re.findall(r"\] built (\S+)", done.stdout)
        return built, int(taken[0]) if taken else 0, done.stdout + done.stderr

    def results(self) -> dict[str, bytes]:
        """What each job of the last run left, by its stage and the file."""
        jobs = json.loads((self.folder / "results/shared/summary.json").read_text())["jobs"]
        workdir = next(each for each in (self.folder / "workdirs").iterdir() if each.name[0] != ".")
        folders = {each["stage"]: workdir / each["job"] for each in jobs}
        return {
            f"{stage}/{file.name}": file.read_bytes()
            for stage, folder in folders.items()
            for file in sorted(folder.iterdir())
            if file.suffix in (".npy", ".pkl", ".rows", ".txt") and file.name[0] != "."
        }


class Foreign(Sharer):
    """A project of somebody else, with another name for its workdir."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.edit("accelerator.conf", "main ./workdirs/main", "theirs ./workdirs/theirs")
        (folder / "workdirs/theirs").mkdir(parents=True)


@contextmanager
def sharers(remote: Remote) -> Iterator[tuple[Sharer, Foreign]]:
    """Two projects with a shared cache."""
    with in_short_folder(Sharer) as one, in_short_folder(Foreign) as other:
        one.remote = other.remote = remote
        yield one, other


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return python_with(tmp_path_factory.mktemp("stores"), STORES)


def python_with(folder: Path, clients: Sequence[str]) -> Path:
    """Python with clients of stores, of which some do not go with the versions that are pinned here."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv, which installs the clients of stores, is not there")
    into = ["--python", str(folder)]
    for command in (["venv", str(folder)], ["pip", "install", *into, *LIBRARIES, *clients]):
        if subprocess.run([str(uv), *command], capture_output=True, timeout=PATIENCE).returncode:
            pytest.skip(f"{', '.join(clients)} cannot be installed here")
    return folder / "bin/python"


@dataclass
class Sshd:
    """A real server of SFTP on this machine, which can be started again at its port."""

    folder: Path
    python: Path
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        for name in ("host", "user"):
            make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(make, check=True)
        (self.folder / "config").write_text(SERVER.format(folder=self.folder))
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)

    def running(self) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
        command = [SSHD, "-D", "-p", str(self.port), "-f", self.folder / "config"]
        return listening(command, self.port)

    @property
    def remote(self) -> Remote:
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        address = f"sftp://{user}@127.0.0.1:{self.port}{self.folder}/cache"
        variables = {"FSSPEC_SFTP_KEY_FILENAME": str(self.folder / "user"), "PYTHONPATH": str(ROOT)}
        return Remote(address, variables, (self.python, "-m", "shortloop"))


@pytest.fixture
def sshd(python: Path, tmp_path: Path) -> Sshd:
    if SSHD is None:
        pytest.skip("openssh-server is not installed")
    return Sshd(tmp_path, python)


@pytest.fixture(params=["moto", "ceph"])
def s3(python: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Remote]:
    variables = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "PYTHONPATH": str(ROOT),
    }
    with contextlib.ExitStack() as running:
        if request.param == "moto":
            port = free_port()
            command = [python.with_name("moto_server"), "-H", "127.0.0.1", "-p", str(port)]
            running.enter_context(listening(command, port))
        elif has_ceph():
            port = running.enter_context(ceph_gateway(tmp_path, "key", "secret"))
        else:
            pytest.skip("Ceph's monitor, disks and gateway are not installed")
        variables["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
        make = "import s3fs; s3fs.S3FileSystem().mkdir('bucket')"
        subprocess.run([python, "-c", make], env={**os.environ, **variables}, check=True, timeout=PATIENCE)
        yield Remote("s3://bucket/team", variables, (python, "-m", "shortloop"))


@pytest.fixture
def gcs(tmp_path: Path) -> Iterator[Remote]:
    python, port = python_with(tmp_path / "google", GOOGLE), free_port()
    variables = {
        "FSSPEC_GS_TOKEN": "anon",
        "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}",
        "PYTHONPATH": str(ROOT),
    }
    server = [python.with_name("gcp-storage-emulator"), "start", "--in-memory"]
    with listening([*server, "--host=127.0.0.1", f"--port={port}", "--default-bucket=bucket"], port):
        yield Remote("gs://bucket/team", variables, (python, "-m", "shortloop"))


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    """A plain folder."""
    return Remote(str(tmp_path / "cache"))


def test_what_one_has_built_another_takes_from_a_folder(remote: Remote) -> None:
    takes_and_goes_on(remote)
    whole = b"".join(file.read_bytes() for file in Path(remote.address).rglob("*") if file.is_file())
    assert (2 * np.arange(1.0, 9.0)).tobytes() in whole
    assert np.arange(1.0, 9.0).tobytes() not in whole  # the recording


@pytest.mark.slow
def test_what_one_has_built_another_takes_over_sftp(sshd: Sshd) -> None:
    with sshd.running():
        takes_and_deletes(sshd.remote)


@pytest.mark.slow
def test_what_one_has_built_another_takes_over_s3(s3: Remote) -> None:
    takes_and_deletes(s3)


@pytest.mark.slow
def test_what_one_has_built_another_takes_over_gcs(gcs: Remote) -> None:
    takes_and_deletes(gcs)


def takes_and_goes_on(remote: Remote) -> None:
    """One builds and pushes; another takes all but what reads the recording, and goes on from there."""
    with sharers(remote) as (one, other):
        assert one.go()[:2] == (["read", "scale", "fit"], 0)
        left = one.results()
        assert json.loads(one.call("cache", "--json").ok().stdout)["jobs"] == 0  # nothing leaves unasked
        assert json.loads(one.call("cache", "--push", "--json").ok().stdout)["pushed"] == 2
        one.ask(by=3)
        assert one.go(push="new")[0] == ["scale", "fit"]
        assert json.loads(one.call("cache", "--json").ok().stdout)["jobs"] == 4
        # The recording stays where it is, and is read by whoever has it too.
        assert other.go()[:2] == (["read"], 2)
        assert other.results() == left
        other.ask(by=3)
        plan = other.call("plan", "shared").ok().stdout
        assert "reused 1 × scale: from the shared cache" in plan
        assert "reused 1 × fit: from the shared cache" in plan
        assert other.go()[:2] == ([], 2)
        assert "all are as they were recorded" in other.call("verify").ok().stdout
        # What is built from jobs that were taken, and with units of such jobs.
        other.computed()
        other.ask(by=2, power=3)
        assert other.go(push="new")[:2] == (["fit"], 0)
        assert len(other.computed()) == 8
        one.ask(by=2, power=3)
        one.computed()
        assert one.go()[:2] == ([], 1)
        assert one.computed() == []
        assert one.results() == other.results()


def takes_and_deletes(remote: Remote) -> None:
    """One builds and pushes; another takes all but what reads the recording; then all is deleted there."""
    with sharers(remote) as (one, other):
        assert one.go(push="new")[:2] == (["read", "scale", "fit"], 0)
        assert json.loads(one.call("cache", "--push", "--json").ok().stdout)["pushed"] == 0
        assert other.go()[:2] == (["read"], 2)
        assert other.results() == one.results()
        assert "all are as they were recorded" in other.call("verify").ok().stdout
        freed = json.loads(one.call("cache", "--gc", "--older", "0s", "--json").ok().stdout)
        assert (freed["deleted"], freed["jobs"], freed["bytes"]) == (2, 0, 0)


def test_recordings_are_shared_if_asked_for_and_a_job_in_several_places_once(remote: Remote) -> None:
    body = """\
reads = [run.build("read", file=run.file("data/x.npy")) for _ in range(3)]
return [run.build("scale", of=read, by=2) for read in reads][-1]
"""
    with sharers(remote) as (one, other):
        for each in (one, other):
            each.write("build_scripts/build_shared.py", script(body))
        assert one.go(push="new", inputs="true")[0] == ["read", "scale"]
        built, taken, said = other.go()
        assert (built, taken) == ([], 2)
        assert "not taken" not in said
        assert other.results() == one.results()


def test_objects_are_taken_only_from_a_trusted_cache(remote: Remote) -> None:
    """And what a run that failed had built was pushed."""
    with sharers(remote) as (one, other):
        for each in (one, other):
            each.ask(objects=True)
        one.edit("methods/a_line.py", "    from helper", "    raise ValueError\n    from helper")
        assert "ValueError" in one.call("run", "shared", push="new").fails()
        one.restore()
        one.ask(objects=True)
        assert one.go(push="new")[0] == ["line", "total"]
        assert other.go()[:2] == (["read", "line"], 3)
        assert other.results() == one.results()
        shutil.rmtree(other.folder / "workdirs/theirs")
        (other.folder / "workdirs/theirs").mkdir()
        assert other.go(trusted="true")[:2] == (["read"], 4)
        assert other.results() == one.results()


class OtherRows(RowsProject):
    """The same, where jobs have other ids."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.edit("accelerator.conf", "main ./workdirs/main", "theirs ./workdirs/theirs")
        (folder / "workdirs/theirs/theirs-7").mkdir(parents=True)


def test_datasets_refer_to_the_jobs_that_are_there(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    body = 'first = run.build("write")\n    rows = run.build("write", first=1000, previous=first)'
    with served(RowsProject) as one, served(OtherRows) as other:
        for name, value in remote.given(push="new", trusted="true").items():
            monkeypatch.setenv(name, value)
        for each in (one, other):
            each.edit("build_scripts/build_rows.py", 'rows = run.build("write")', body)
        found, said = one.go()
        assert "4 jobs built" in said
        here, said = other.go()
        assert "4 jobs taken from the shared cache" in said
        assert here["counts"] == found["counts"] == [2 * WHOLE[0], sum(range(2 * WHOLE[0]))]
        assert {job.partition("-")[0] for job in here["jobs"]} == {"theirs"}
        assert min(int(job.partition("-")[2]) for job in here["jobs"]) > 7
        assert "all are as they were recorded" in other.works("verify")
        # exax itself reads the chain, and builds more from it.
        for each in (one, other):
            each.edit("methods/a_count.py", "return len(rows), sum(rows)", "return len(rows), 2 * sum(rows)")
        again, said = other.go()
        assert "1 job built" in said
        assert again["counts"] == [2 * WHOLE[0], 2 * sum(range(2 * WHOLE[0]))]
        assert "1 job taken from the shared cache" in one.go()[1]


def test_numbers_of_jobs_that_were_taken_are_given_to_no_other(remote: Remote) -> None:
    """Not even by a server that runs on, and has not looked into the workdir since."""
    with sharers(remote) as (one, other):
        one.go(push="new", inputs="true")
        other.start_server()
        assert "3 jobs taken" in other.ax("run", "-q", "shared", **remote.given()).ok().stdout
        for by in (5, 6):
            other.ask(by=by)
            assert "built scale" in other.ax("run", "-q", "shared", **remote.given()).ok().stdout
        said = other.works("verify")
        assert said.startswith("7 jobs, ")
        assert "all are as they were recorded" in said
        assert "option by: 2 → 5" in other.works("why", "theirs-5")


@pytest.mark.slow
def test_a_store_that_is_not_there_is_said_and_done_without(sshd: Sshd) -> None:
    with sharers(sshd.remote) as (one, other):
        built, taken, said = one.go(push="new")
        assert (built, taken) == (["read", "scale", "fit"], 0)
        assert said.count("without the shared cache sftp://") == 1
        with sshd.running():
            assert one.go(push="new")[:2] == ([], 0)  # what was not pushed is pushed now
            assert other.go()[:2] == (["read"], 2)


@pytest.mark.slow
def test_a_store_that_hangs_is_said_and_done_without(sshd: Sshd) -> None:
    with sharers(sshd.remote) as (one, _), sshd.running() as server:
        one.go(push="new")
        one.ask(by=5)
        os.killpg(server.pid, signal.SIGSTOP)
        began = time.monotonic()
        built, _, said = one.go()
        assert time.monotonic() - began < 20 * slowness()
        assert built == ["scale", "fit"]
        assert re.findall(r"without the shared cache sftp://\S+: .*", said)


@pytest.mark.slow
def test_a_full_disk_of_the_cache_loses_nothing(remote: Remote) -> None:
    disk = Path(remote.address)
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small disk")
    try:
        with sharers(remote) as (one, other):
            (disk / "full").write_bytes(bytes(80_000))
            built, _, said = one.go(push="new")
            assert built == ["read", "scale", "fit"]
            assert re.search(r"without the shared cache .*No space left on device", said)
            assert other.go()[0][0] == "read"
            assert not [*disk.rglob(".*")]
            (disk / "full").unlink()
            subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
            assert one.go(push="new")[:2] == ([], 0)
            assert json.loads(one.call("cache", "--json").ok().stdout)["jobs"] == 2
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.slow
def test_two_that_run_at_once(remote: Remote) -> None:
    with sharers(remote) as (one, other):
        given: Any = remote.given(push="new")
        runs = [each.popen(SHORTLOOP, "run", "shared", **given) for each in (one, other)]
        said = [run.communicate(timeout=PATIENCE)[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], said
        assert one.results() == other.results()
        assert json.loads(one.call("cache", "--json").ok().stdout)["jobs"] == 2
        for each in (one, other):
            assert "all are as they were recorded" in each.works("verify")


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_pushes(remote: Remote) -> None:
    """Wherever that was: the next run pushes the rest, and nobody takes a part of a job."""
    with sharers(remote) as (one, other):
        given: Any = remote.given(push="new")
        for pause in (0.0, 0.02, 0.05):
            one.ask(by=round(100 * pause) + 10)
            killed(one.popen(SHORTLOOP, "run", "shared", session=True, **given), pause)
        one.go(push="new")
        assert one.call("verify").returncode == 0
        other.ask(by=15)
        other.go()
        assert other.results() == one.results()


def killed(running: subprocess.Popen[str], pause: float) -> None:
    """Kill a run with all that it started, a moment after its first job was built."""
    assert running.stdout is not None
    while "built scale" not in (line := running.stdout.readline()):
        assert line
    time.sleep(pause)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()


def test_settings_and_mistakes_are_said(remote: Remote, tmp_path: Path) -> None:
    with in_short_folder(Sharer) as one:
        one.remote = remote
        assert "no shared cache is set" in one.shortloop("cache").fails()
        assert "--gc would delete all jobs" in one.call("cache", "--gc").fails()
        assert "need --gc" in one.call("cache", "--older", "2d").fails()
        assert "the shared cache is read-only here" in one.call("cache", "--push", read_only="true").fails()
        assert "unknown" not in one.call("cache").ok().stdout
        assert "Protocol not known" in one.shortloop("cache", SHORTLOOP_CACHE="no_such://x").fails()
        assert (
            "Protocol not known" in one.shortloop("run", "shared", SHORTLOOP_CACHE="no_such://x").ok().stdout
        )
        settings = tmp_path / "settings.toml"
        settings.write_text(f'[cache]\nremote = "{tmp_path}/here"\npush = "sometimes"\n')
        assert "cache.push" in one.shortloop("cache", "--settings", str(settings)).fails()
        settings.write_text('[cache]\nremote = "here"\n')
        assert f"in {tmp_path}/here" in one.works("cache", "--settings", str(settings))


@pytest.mark.slow
def test_a_report_made_of_jobs_of_others_is_the_same(tmp_path: Path) -> None:
    """A study's settings say where; what differs are the recordings, which were not pushed."""

    def delivered(project: LiveProject) -> Mapping[str, bytes]:
        results = project.folder / "results/live"
        files = [file for file in results.rglob("*") if file.is_file() and file.name != "summary.json"]
        return {str(file.relative_to(results)): file.read_bytes() for file in files}

    with served(LiveProject) as one, served(LiveProject) as other:
        for each in (one, other):
            with (each.folder / "study.toml").open("a") as study:
                study.write(f'\n[cache]\nremote = "{tmp_path}/cache"\npush = "new"\n')
        built = one.run()
        assert len(built) > 10
        said = other.ax("run", "build_pipeline").ok().stdout
        assert re.findall(r"\] built (\S+)", said) == ["import_epochs", "import_epochs"]
        assert f"{len(built) - 2} jobs taken from the shared cache" in said
        assert delivered(other) == delivered(one)
        # exax's server, which runs on, gives their numbers to no other job.
        other.edit_study("count = 39", "count = 59")
        assert {stage for stage, _ in other.run()} >= {"permute", "report"}
        one.edit_study("count = 39", "count = 59")
        assert one.run() == {}
