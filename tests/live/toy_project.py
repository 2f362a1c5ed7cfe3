"""A project of toy jobs in any order that is asked for, what they must leave, and ways to break them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from live_project import AX, PATIENCE, SHORTLOOP, EmptyProject, processes, wait_for
from toy_sources import FAULTS, JOIN, METHODS, MORE, SCRIPT, STEPS, UNITS


@dataclass(frozen=True)
class Node:
    """A toy job: its method, its options, and the numbers of the jobs that it is made from."""

    method: str
    number: int
    of: tuple[int, ...] = ()
    file: str = ""
    length: int = 64


def chains(number: int, count: int = 2, length: int = 64) -> list[Node]:
    """Two jobs for each of some participants, and one for all; none like those of another number."""
    nodes = []
    for each in range(count):
        nodes.append(Node("first", 10 * number + each, length=length))
        nodes.append(Node("scale", 10 * number + 5 + each, (2 * each,)))
    return [*nodes, Node("join", number, tuple(range(1, 2 * count, 2)))]


def expected(
    nodes: Sequence[Node],
    files: Mapping[str, int] | None = None,
    steps: Mapping[str, str] = STEPS,
    constants: Mapping[str, int] | None = None,
) -> list[np.ndarray]:
    """What each job must leave."""
    space: dict[str, Any] = {}
    for text in steps.values():
        exec(text, space)
    found: list[np.ndarray] = []
    for node in nodes:
        above = [found[each] for each in node.of]
        if node.method == "first":
            more = (files or {})[node.file] if node.file else 0
            starts = 1000 * np.arange(UNITS)[:, None]
            found.append(space["first"](starts + np.arange(node.length), node.number + more))
        elif node.method == "scale":
            found.append(space["scale"](above[0], node.number))
        else:
            found.append(space["join"](above, node.number))
        found[-1] = found[-1] + (constants or {}).get(node.method, 0)
    return found


@dataclass(frozen=True)
class Ran:
    """What a run did."""

    status: int
    said: str
    jobs: list[str] = field(default_factory=list)
    fresh: list[bool] = field(default_factory=list)

    @property
    def reused(self) -> set[str]:
        """Jobs that were there."""
        return {job for job, fresh in zip(self.jobs, self.fresh) if not fresh}


RUN = (AX, "run", "dag")


class DagProject(EmptyProject):
    """Toy jobs, as `dag.json` lists them."""

    sources: ClassVar = {
        **METHODS,
        "methods/a_join.py": JOIN,
        "methods/faults.py": FAULTS,
        **{f"methods/step_{method}.py": text for method, text in STEPS.items()},
        **{f"methods/{name}": text for name, text in MORE.items()},
        "build_scripts/build_dag.py": SCRIPT,
    }

    def __init__(self, folder: Path, pause: float = 0.0) -> None:
        super().__init__(folder)
        self.pause = pause

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment(TOY_PAUSE=str(self.pause), **more)

    def write_dag(self, nodes: Sequence[Node]) -> None:
        self.write("dag.json", json.dumps([vars(node) for node in nodes]))

    def new_chains(self) -> list[Node]:
        """Jobs that were never built."""
        nodes = chains(len(list((self.folder / "workdirs/main").iterdir())))
        self.write_dag(nodes)
        return nodes

    def start(self, *command: str | Path) -> subprocess.Popen[str]:
        """Begin to run it, in a session of its own, as a terminal would."""
        self._forget()
        return self.popen(*(command or RUN), session=True)

    def _forget(self) -> None:
        for name in ("last.json", "reached"):
            (self.folder / name).unlink(missing_ok=True)

    def end(self, running: subprocess.Popen[str]) -> Ran:
        """Wait until it has ended."""
        said, _ = running.communicate(timeout=PATIENCE)
        return self._ran(running.returncode, said)

    def _ran(self, status: int, said: str) -> Ran:
        try:
            jobs = self.read_json("last.json")
        except (OSError, ValueError):  # it did not get there
            jobs = []
        return Ran(status, said, [job for job, _ in jobs], [fresh for _, fresh in jobs])

    def go(self, *command: str | Path) -> Ran:
        """Run it, which must work."""
        self._forget()
        done = self.shell(*(command or RUN))
        ran = self._ran(done.returncode, done.stdout + done.stderr)
        assert ran.status == 0, ran.said
        return ran

    def start_command(self) -> subprocess.Popen[str]:
        """Begin `shortloop run`, which starts a server of its own if none answers."""
        return self.start(str(SHORTLOOP), "run", "dag")

    def break_at(self, where: str, number: int, what: str) -> None:
        """From now on, a job fails: it raises, exits, or hangs (`hold`) until it is mended."""
        self.write(".fault.json", json.dumps({"where": where, "number": number, "what": what}))

    def mend(self) -> None:
        (self.folder / ".fault.json").unlink(missing_ok=True)

    def wait_until_reached(self) -> None:
        """Wait until a job is where it was told to fail."""
        wait_for((self.folder / "reached").exists)

    def finished(self) -> set[str]:
        """Jobs that exax finished, but for those of build scripts."""
        return {
            each.name
            for each in (self.folder / "workdirs" / "main").glob("main-[0-9]*")
            if (each / "post.json").exists() and setup_of(each).get("package") == "methods"
        }

    def check(self, ran: Ran, wanted: Sequence[np.ndarray]) -> None:
        """All jobs of a run left what they must, to the byte, and are recorded."""
        assert len(ran.jobs) == len(wanted), ran.said
        for job, values in zip(ran.jobs, wanted):
            folder = self.job_folder(job)
            np.testing.assert_array_equal(np.load(folder / "x.npy"), values, err_msg=job)
            assert (folder / "post.json").is_file(), job
            assert (folder / "manifest.json").is_file(), job

    def processes(self) -> dict[str, list[int]]:
        """As of `server_processes`."""
        return server_processes(self.folder)

    def alive(self) -> list[str]:
        """Command lines of all processes that work in the project."""
        return [each.command for each in processes(self.folder).values()]

    def kill_server(self) -> None:
        assert self.server is not None
        self.server.kill()
        self.server.wait()
        self.server = None

    def stop_server(self) -> None:
        super().stop_server()
        for process in self.processes()["board"]:  # of servers that were killed, which it outlives
            os.kill(process, signal.SIGKILL)


def server_processes(folder: Path) -> dict[str, list[int]]:
    """The server of a project and the processes below it, by what they are."""
    tree, here = processes(), folder.resolve()
    called = [
        p for p, each in tree.items() if f" {each.command}".rstrip().endswith(("/ax server", " ax server"))
    ]
    server = [p for p in called if tree[p].cwd == here and tree[p].parent not in called]
    runner = [p for p, each in tree.items() if each.parent in server and "/runner.py " in each.command]
    forked = [p for p, each in tree.items() if each.parent in runner and each.group == p]
    method = [p for p in forked if "/runner.py " not in tree[p].command]  # a spare has no job yet
    slices = [p for p, each in tree.items() if each.parent in method and " analysis(" in each.command]
    board = [p for p, each in tree.items() if " board-server for " in each.command and each.cwd == here]
    return {"server": server, "runner": runner, "method": method, "slice": slices, "board": board}


def setup_of(job: Path) -> dict[str, Any]:
    """What exax noted of a job when it began; nothing if that was lost."""
    try:
        loaded = json.loads((job / "setup.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def most_at_once(toy: DagProject) -> int:
    """How many jobs, of those that finished, ran at the same time."""
    posts = []
    for job in toy.finished():
        with contextlib.suppress(ValueError):  # a power cut may have damaged it
            posts.append(json.loads((toy.job_folder(job) / "post.json").read_text(encoding="utf-8")))
    return max(
        sum(other["starttime"] <= post["starttime"] < other["endtime"] for other in posts) for post in posts
    )


def before_the_cut(job: Path) -> None:
    """Make it look as if a job was finished before the machine was started."""
    uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    with contextlib.suppress(ValueError):  # it was cut short itself
        post = json.loads((job / "post.json").read_text(encoding="utf-8"))
        post["starttime"] = time.time() - uptime - 60
        (job / "post.json").write_text(json.dumps(post), encoding="utf-8")
