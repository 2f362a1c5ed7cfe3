"""Processes of one or two jobs killed at random moments, power cuts, and edits while jobs run: nothing wrong
is used, nothing finished is lost, and the next run needs no work by hand.

KILLS says how many, SEED which; ``make soak`` asks for many.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from live_one import unseen_edit
from live_project import SHORTLOOP
from toy_project import AX, DagProject, Node, Ran, before_the_cut, chains, expected, most_at_once, setup_of
from toy_sources import CONSTANTS

from shortloop.store.crash_repair import repair_lists
from shortloop.store.integrity import damage
from shortloop.store.manifest import read_manifest

pytestmark = [] if "KILLS" in os.environ else [pytest.mark.slow]
KILLS = int(os.environ.get("KILLS", "4"))
SEED = int(os.environ.get("SEED") or 0)
PAUSE = 0.02  # s, some ten times a job
VICTIMS = ("slice", "slice", "method", "method", "runner", "server", "client", "power", "edit", "edit")
FILE = "one.txt"
BRANCHES = 4  # of jobs that need nothing of each other
COMMANDS = {
    "ax run": (str(AX), "run", "dag"),
    "ax run -q": (str(AX), "run", "-q", "dag"),
    "shortloop run": (str(SHORTLOOP), "run", "dag"),
}


class Attack:
    """Kills processes of a project, one after the other, and counts them."""

    def __init__(self, toy: DagProject, rng: random.Random) -> None:
        self.toy, self.rng = toy, rng
        self.kills: Counter[str] = Counter()
        self.seconds = 2.0
        """That a run takes."""
        self.constants, self.file = dict.fromkeys(CONSTANTS, 0), 5
        self.write(toy.folder / FILE, "5")

    def once(self) -> str:
        """Run, and kill something on the way; what was done."""
        toy, rng = self.toy, self.rng
        name = rng.choice(list(COMMANDS))
        if name.startswith("ax"):
            self.have_server()
        running = [toy.start(*COMMANDS[name])]
        if rng.random() < 0.15:
            running.append(toy.start(*COMMANDS["shortloop run"]))
        victim, after, most = rng.choice(VICTIMS), rng.uniform(0, self.seconds), rng.choice([1, 2])
        hit = self.kill(victim, running[0], after, most)
        for each in running:
            ran = toy.end(each)
            # A process that was killed was killed, and everything else ends as it should.
            assert ran.status in (0, 1, -9), f"{victim} after {after:.2f} s: {ran.said}"
        self.kills[victim if hit == 1 else f"{hit} × {victim}"] += bool(hit)
        return f"{name}, {hit} × {victim} after {after:.2f} s"

    def kill(self, victim: str, running: subprocess.Popen[str], after: float, most: int) -> int:
        """Kill it, at most that many of it at once; how many there were."""
        deadline = time.monotonic() + after
        while time.monotonic() < deadline and running.poll() is None:
            time.sleep(0.002)
        if running.poll() is not None:
            return 0
        if victim == "edit":
            self.edit()
            return 1
        if victim == "client":
            running.kill()
            return 1
        if victim == "power":
            running.kill()
            self.kill_servers()
            self.lose_files()
            return 1
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline and running.poll() is None:
            found = self.toy.processes()[victim]
            if victim in ("method", "slice") and len(found) < most:
                continue  # until there are as many at once
            if found:
                if victim == "server":
                    self.kill_servers()
                    return 1
                hit = self.rng.sample(found, min(most, len(found)))
                for process in hit:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                return len(hit)
        return 0

    def edit(self) -> None:
        """Change a module that a method imports, or a file that a job reads."""
        name = self.rng.choice([*CONSTANTS, FILE])
        if name == FILE:
            self.file = self.rng.randrange(5, 9)
            self.write(self.toy.folder / FILE, str(self.file))
        else:
            self.constants[name] = self.rng.randrange(3)
            self.write(self.toy.folder / "methods" / CONSTANTS[name], f"K = {self.constants[name]}\n")

    def write(self, file: Path, text: str) -> None:
        if file.exists() and self.rng.random() < 0.5:
            unseen_edit(file, text)
        else:
            file.write_text(text, encoding="utf-8")

    def kill_servers(self) -> None:
        for process in self.toy.processes()["server"]:
            os.kill(process, signal.SIGKILL)
        if self.toy.server is not None:
            self.toy.server.wait()
            self.toy.server = None

    def lose_files(self) -> None:
        """As a power cut may, of whatever nobody asked the disk to keep."""
        for folder in (self.toy.folder / "workdirs/main").glob("main-[0-9]*"):
            if not (folder / "manifest.json").exists():
                if (folder / "post.json").exists():
                    before_the_cut(folder)
                self.lose_some(folder, 0.7)
        self.lose_some(self.toy.folder / "workdirs/.cache", 0.3)
        self.lose_some(self.toy.folder / "urd.db", 0.5)
        for boot in (self.toy.folder / "workdirs/main/.checkpoints").glob("*/boot"):
            boot.write_text("another", encoding="utf-8")

    def lose_some(self, folder: Path, share: float) -> None:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and self.rng.random() < share:
                size = file.stat().st_size
                what = self.rng.choice(["gone", "empty", "short", "zeros"])
                if what == "gone":
                    file.unlink()
                elif what == "zeros":
                    file.write_bytes(bytes(size))
                else:
                    os.truncate(file, 0 if what == "empty" else self.rng.randrange(size + 1))

    def have_server(self) -> None:
        """By hand, as `ax run` needs one."""
        if self.toy.server is None or self.toy.server.poll() is not None:
            repair_lists(self.toy.folder)  # else exax's server may end once, and then work
            self.toy.start_server()

    def last(self) -> Ran:
        """Run without a fault."""
        started = time.monotonic()
        ran = self.toy.end(self.toy.start(*COMMANDS["shortloop run"]))
        self.seconds = time.monotonic() - started
        return ran


def test_kills_at_random() -> None:
    print(f"SEED={SEED}")
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        toy = DagProject(Path(folder), pause=PAUSE)
        attack = Attack(toy, rng)
        done: list[str] = []
        try:
            while attack.kills.total() < KILLS:
                nodes = chains(len(done), BRANCHES)
                nodes[0] = replace(nodes[0], file=FILE)
                toy.write_dag(nodes)
                before = attack.constants.copy(), attack.file
                done += [attack.once() for _ in range(rng.randint(1, 3))]
                there = finished_nodes(toy)
                ran = attack.last()
                assert ran.status == 0, ran.said
                toy.check(ran, expected(nodes, {FILE: attack.file}, constants=attack.constants))
                lost = [node for node, fresh in zip(nodes, ran.fresh) if fresh and key_of(node) in there]
                assert lost == [] or before != (attack.constants, attack.file), ran.said
            assert all_whole(toy)
            assert most_at_once(toy) > 1 or len(os.sched_getaffinity(0)) == 1
        finally:
            print(*done, sep="\n")
            toy.stop_server()
    print(f"killed {dict(attack.kills)}")


def finished_nodes(toy: DagProject) -> set[tuple[str, int]]:
    """Methods and numbers of finished jobs, but for those that a power cut may have damaged."""
    found = set()
    since = time.time() - float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    for job in toy.finished():
        folder, setup = toy.job_folder(job), setup_of(toy.job_folder(job))
        if (folder / "manifest.json").exists() or started(folder) > since:
            found.add((setup["method"], setup["options"]["number"]))
    return found


def started(folder: Path) -> float:
    try:
        return float(json.loads((folder / "post.json").read_text(encoding="utf-8"))["starttime"])
    except ValueError:
        return 0.0


def key_of(node: Node) -> tuple[str, int]:
    return node.method, node.number


def all_whole(toy: DagProject) -> bool:
    """Whether all jobs with a manifest are as they were recorded."""
    manifests = {job: read_manifest(toy.job_folder(job)) for job in toy.finished()}
    return all(
        manifest is None or damage(toy.job_folder(job), manifest) is None
        for job, manifest in manifests.items()
    )
