"""A copy of the project in a folder of its own, with a server of its own, driven from the shell."""

from __future__ import annotations

import compileall
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import forked_commands
import numpy as np
import pytest

from shortloop.stages.results import Result, open_result

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0  # s until what hangs is ended: nothing is measured by it, as machines may be busy
AX = Path(sys.executable).with_name("ax")
SHORTLOOP = AX.with_name("shortloop")
FILES = {"FOLDER": "", "BOARD": "board", "COMPUTED": ".computed"}
"""Files and folders that methods are told of: the project, where jobs meet, units that were computed."""
STUDY = """\
name = "live"
seed = 3
participants = ["A", "B"]
classes = ["left", "right"]
phases.train = "viewing"

[input]
format = "npz"
folder = "data"
files.viewing = ["{participant}.npz"]

[features.amplitude]
baseline = false
lowpass = 20.0
start = 0.0
bins = 4
bin_samples = 5

[decoding]
folds = 3

[estimator]
kind = "linear-svm"
C = [0.001, 0.01]
inner_folds = 2

[permutations]
count = 39
"""


@functools.cache
def compile_package() -> None:
    """Bytecode beside the package's sources, as beside those of an installed one: copies need not make it."""
    compileall.compile_dir(ROOT / "shortloop", quiet=1)


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def slowness() -> float:
    """How many times longer work takes now than if nobody else had work for the processors."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() - used < 0.1:
        pass
    return max(1.0, (time.monotonic() - began) / 0.1)


class Process(NamedTuple):
    """A process, its command line with spaces, and its current folder."""

    parent: int
    group: int
    command: str
    cwd: Path


def processes(folder: Path | None = None) -> dict[int, Process]:
    """Processes of this machine, or those that work in a folder, by their ids."""
    found = {}
    for number in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            place = Path("/proc", number)
            fields = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            cwd = Path(os.readlink(place / "cwd"))
            if folder is None or cwd.is_relative_to(folder.resolve()):
                found[int(number)] = Process(int(fields[1]), int(fields[2]), command, cwd)
    return found


def write_recording(file: Path, seed: int, trials: int = 16, **changes: Any) -> None:
    """Two classes that differ from 100 ms on; the file's size depends on the shapes only."""
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], trials)
    t = np.arange(-8, 32) / 64
    x = rng.standard_normal((len(y), 3, len(t))).astype(np.float32)
    x[y == 1, 0] += 1.5 * (t > 0.1)
    arrays: dict[str, Any] = {"X": x, "y": np.array(["left", "right"])[y], "t": t, "ch": ["a", "b", "c"]}
    np.savez(file, **{**arrays, **changes})


def analysis_of(file: Path) -> str:
    """Of which analysis a method or build script of the repository is."""
    if "frames" in file.stem:
        return "frames"
    return "panel" if "panel" in file.stem or file.stem == "a_import_dataset" else "eeg"


STAGES = """\
import os
import time
from pathlib import Path

from shortloop import File, Finished, InputError, Job, Out, Stage, stage


"""


def stages(text: str) -> dict[str, str]:
    """Files of methods by their paths, from a text that has each below a line ``# NAME``."""
    _, *parts = re.split(r"^# (\w+)\n", text, flags=re.M)
    return {f"methods/a_{name}.py": STAGES + part for name, part in zip(parts[::2], parts[1::2])}


def script(body: str, reads: str = "") -> str:
    """A build script with a pipeline of these lines, in which `asked` is what a file of JSON holds."""
    above = "import json\nfrom pathlib import Path\n\n" if reads else ""
    lines = [f'asked = json.loads((Path(__file__).parents[1] / "{reads}").read_text())'] if reads else []
    indented = textwrap.indent("\n".join([*lines, body.strip("\n"), ""]), "    ")
    return f"{above}from shortloop import pipeline\n\n\n@pipeline\ndef main(run):\n{indented}"


class Done(subprocess.CompletedProcess[str]):
    """A command that has ended."""

    def ok(self) -> Done:
        assert self.returncode == 0, self.stdout + self.stderr
        return self

    def fails(self) -> str:
        """All that it says, which must not work."""
        assert self.returncode == 1, self.stdout + self.stderr
        return self.stdout + self.stderr


class LiveProject:
    """The project's files, a small study of two participants, and the commands as a user runs them."""

    forks = True
    """Whether its commands are forks, which is quicker, if nothing is edited that they have imported."""
    edits_package = False
    """Whether it has a copy of the package; else it uses the one that is tested, as a user's project does."""
    analyses: tuple[str, ...] = ("eeg",)
    """Whose methods and build scripts it has. exax loads all that are there in each run."""
    sources: ClassVar[Mapping[str, str]] = {}
    """Further files that it begins with, by path."""
    run_name = "live"
    """Name of the runs whose summary is read."""
    settings_file = "study.toml"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.forks = self.forks and not self.edits_package
        folder.mkdir(exist_ok=True)
        compile_package()
        if self.edits_package:
            shutil.copytree(ROOT / "shortloop", folder / "shortloop")  # with times, which bytecode goes by
        for name in ("methods", "build_scripts", "dev"):
            (folder / name).mkdir()
            for file in (ROOT / name).glob("*.py"):
                if file.name == "__init__.py" or analysis_of(file) in self.analyses:
                    shutil.copy(file, folder / name)
        shutil.copy(ROOT / "accelerator.conf", folder)
        (folder / "data").mkdir()
        for seed, name in enumerate("AB"):
            write_recording(folder / "data" / f"{name}.npz", seed)
        self.write_study(STUDY)
        self.restore()
        self.server: subprocess.Popen[bytes] | None = None

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project, in a folder that is made if need be."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def restore(self) -> None:
        """Write its own files as they were at first."""
        for name, text in self.sources.items():
            self.write(name, text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def write_study(self, text: str) -> None:
        self.write("study.toml", text)

    def edit_study(self, old: str, new: str) -> None:
        self.edit("study.toml", old, new)

    def prepare(self) -> None:
        """What is done once there is a server; nothing, of most kinds."""

    def environment(self, **more: str) -> dict[str, str]:
        # Bytecode is written, as on a user's machine: not writing it hides code that is run as it was.
        dropped = ("_NUM_THREADS", "PYTHONDONTWRITEBYTECODE")
        kept = {k: v for k, v in os.environ.items() if not k.endswith(dropped)}
        files = {
            name: str(self.folder / file) for name, file in {**FILES, "STUDY": self.settings_file}.items()
        }
        return {**kept, "USER": "tester", "SHORTLOOP_SLICES": "2", **files, **more}

    def shell(self, *command: str | Path, below: str = "", **environment: str) -> Done:
        """Run a command in the project's folder, or one below it."""
        folder, given = self.folder / below, self.environment(**environment)
        known = command[0] in (AX, SHORTLOOP) or command[:2] == (sys.executable, "-c")
        if self.forks and known and forked_commands.can_fork(given):
            return Done(list(command), *forked_commands.run(command, folder, given, PATIENCE))
        ended = subprocess.run(
            command, cwd=folder, env=given, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return Done(ended.args, ended.returncode, ended.stdout, ended.stderr)

    def popen(self, *command: str | Path, session: bool = False, **environment: str) -> subprocess.Popen[str]:
        """Start a command whose output is one stream; in a session of its own, as a terminal would."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(**environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=session,
        )

    def python(self, code: str, **environment: str) -> str:
        """What code prints in a Python of its own; it must work."""
        return self.shell(sys.executable, "-c", code, **environment).ok().stdout

    def ax(self, *arguments: str, **environment: str) -> Done:
        return self.shell(AX, *arguments, **environment)

    def shortloop(self, *arguments: str, **environment: str) -> Done:
        return self.shell(SHORTLOOP, *arguments, **environment)

    def works(self, *arguments: str, **environment: str) -> str:
        """What a command of `shortloop` prints, which must work."""
        return self.shortloop(*arguments, **environment).ok().stdout

    def start_server(self, **environment: str) -> None:
        log = (self.folder / "server.log").open("wb")
        self.server = subprocess.Popen(
            [str(AX), "server"],
            cwd=self.folder,
            env=self.environment(**environment),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        server = self.server

        def has_come() -> bool:
            assert server.poll() is None, (self.folder / "server.log").read_text()
            return self.answers()

        wait_for(has_come)

    def answers(self) -> bool:
        """Whether its server does, asked as `ax status` asks, but without a process for each time."""
        with socket.socket(socket.AF_UNIX) as asking, contextlib.suppress(OSError):
            said = (self.folder / "accelerator.conf").read_text(encoding="utf-8")
            asking.connect(str(self.folder / re.findall(r"^listen: *(.+)$", said, re.M)[0]))
            asking.sendall(b"GET /status HTTP/1.0\r\n\r\n")
            return b" 200 " in asking.recv(100)
        return False

    def stop_server(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(timeout=PATIENCE)
            self.server = None

    def run(self, script: str = "build_pipeline") -> dict[tuple[str, str | None], str]:
        """Run a script; the jobs it built: ids by (stage, participant)."""
        lines = re.findall(r"\] built (\S+) +(\S*) +(main-\d+)", self.ax("run", script).ok().stdout)
        return {(stage, participant or None): job for stage, participant, job in lines}

    def computed(self) -> list[str]:
        """Units that methods noted since this was asked last."""
        file = self.folder / FILES["COMPUTED"]
        found = sorted(file.read_text().split()) if file.exists() else []
        file.unlink(missing_ok=True)
        return found

    def read_json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def summary(self) -> dict[str, Any]:
        loaded: dict[str, Any] = self.read_json(f"results/{self.run_name}/summary.json")
        return loaded

    def last_results(self) -> dict[str, Result]:
        """Results of the last run, by partition, or by stage if they have none."""
        found = [open_result(self.job_folder(each["job"])) for each in self.summary()["jobs"]]
        return {str(each.partition or each.stage): each for each in found}

    def last_result(self, stage: str) -> Result:
        """The job of a stage without partitions in the last run."""
        return self.last_results()[stage]

    def job_folder(self, job: str) -> Path:
        return self.folder / "workdirs" / "main" / job

    def manifest(self, job: str) -> dict[str, Any]:
        loaded: dict[str, Any] = self.read_json(f"workdirs/main/{job}/manifest.json")
        return loaded

    def record(self, job: str) -> dict[str, Any]:
        loaded: dict[str, Any] = self.read_json(f"workdirs/main/{job}/record.json")
        return loaded

    def job(self, stage: str, participant: str | None = None) -> str:
        """Id of a job of the last run."""
        jobs = self.summary()["jobs"]
        of = "participant" if "participant" in jobs[0] else "partition"
        (found,) = [j["job"] for j in jobs if (j["stage"], j[of]) == (stage, participant)]
        return str(found)

    def result(self, stage: str, participant: str | None = None) -> Path:
        return self.job_folder(self.job(stage, participant))


class EditedProject(LiveProject):
    """The same, with a copy of the package."""

    edits_package = True

    def shortloop(self, *arguments: str, **environment: str) -> Done:
        # As a module, the command is that of the copy.
        return self.shell(sys.executable, "-m", "shortloop", *arguments, **environment)


class Begun(LiveProject):
    """A project that a command has begun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = None

    def environment(self, **more: str) -> dict[str, str]:
        made = super().environment(PYTHONPATH=str(ROOT), **more)
        return {name: value for name, value in made.items() if name not in ("STUDY", "VIRTUAL_ENV")}


class EmptyProject(LiveProject):
    """The same, with no methods and no scripts."""

    analyses: tuple[str, ...] = ()


Project = TypeVar("Project", bound=LiveProject)


@contextmanager
def in_short_folder(kind: type[Project]) -> Iterator[Project]:
    """A project without a server, and not in tmp_path: the path of a Unix socket must be short."""
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        made = kind(Path(folder))
        try:
            yield made
        finally:
            made.stop_server()


@contextmanager
def served(kind: type[Project], **environment: str) -> Iterator[Project]:
    """A project with a running server."""
    with in_short_folder(kind) as made:
        made.start_server(**environment)
        made.prepare()
        yield made


def fixture_of(kind: type[LiveProject], scope: Any = "module", server: bool = True) -> Any:
    """A fixture that gives a project, with a running server or without."""

    @pytest.fixture(scope=scope)
    def project() -> Iterator[LiveProject]:
        with (served if server else in_short_folder)(kind) as made:
            yield made

    return project
