"""Random edits to random small pipelines: what a run builds is exactly what it has to, and all that it leaves
is what a clean build leaves.

The oracle is written anew: a job must be built if and only if there is no whole one of the same method, code,
options and content of inputs. EDITS says how many edits, SEED which; ``make soak`` asks for many.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from live_one import unseen_edit
from live_project import SHORTLOOP
from toy_project import AX, DagProject, Node, chains, expected
from toy_sources import CONSTANTS, STEPS

EDITS = int(os.environ.get("EDITS", "10"))
SEED = int(os.environ.get("SEED") or 0)
# Of each method: as it is, the same in other words, and something else.
VARIANTS = {
    "first": ("x * 7 + number", "number + 7 * x", "x * 7 + number + 1"),
    "scale": ("x * 3 + number", "number + 3 * x", "x * 2 + number"),
    "join": ("sum(every) + number", "number + sum(every)", "sum(every) - number"),
}
FILES = ("one.txt", "two.txt", "three.txt")
COMMAND = (str(SHORTLOOP), "run", "dag")
OF_A_JOB = ("x.npy", "record.json", "setup.json", "post.json", "method.tar.gz", "manifest.json")


class World:
    """A project, and what must be true of it."""

    def __init__(self, folder: Path, rng: random.Random, second: Path | None = None) -> None:
        self.toy, self.rng = DagProject(folder), rng
        self.second = second
        self.other: DagProject | None = None
        self.current: set[str] = set()
        """Jobs of the last run."""
        self.nodes = [Node("first", 0, file=FILES[0]), Node("scale", 1, (0,)), Node("join", 2, (0, 1))]
        self.files, self.variants = dict.fromkeys(FILES, 5), dict.fromkeys(VARIANTS, 0)
        self.constants = dict.fromkeys(VARIANTS, 0)
        self.whole: dict[Any, str] = {}
        self.log: list[str] = []
        for name in FILES:
            self.write_file(name)

    # What may be edited.

    def change_number(self) -> None:
        at = self.rng.randrange(len(self.nodes))
        self.nodes[at] = replace(self.nodes[at], number=self.rng.randrange(4))

    def add_job(self) -> None:
        method = self.rng.choice(list(VARIANTS))
        many = {"first": 0, "scale": 1, "join": self.rng.randint(1, 3)}[method]
        of = tuple(self.rng.randrange(len(self.nodes)) for _ in range(many))
        file = self.rng.choice(["", *FILES]) if method == "first" else ""
        self.nodes.append(Node(method, self.rng.randrange(4), of, file))

    def drop_job(self) -> None:
        if len(self.nodes) > 3:
            self.nodes.pop()

    def change_inputs(self) -> None:
        at = self.rng.randrange(len(self.nodes))
        of = tuple(self.rng.randrange(at) for _ in self.nodes[at].of) if at else ()
        self.nodes[at] = replace(self.nodes[at], of=of)

    def change_file(self) -> None:
        name = self.rng.choice(FILES)
        self.files[name] = self.rng.randrange(5, 8)
        self.write_file(name)

    def touch_files(self) -> None:
        for name in FILES:
            self.write_file(name)

    def change_code(self) -> None:
        method = self.rng.choice(list(VARIANTS))
        self.variants[method] = self.rng.randrange(3)
        self.write_code(method)

    def change_constant(self) -> None:
        """In a file that is imported in a roundabout way."""
        method = self.rng.choice(list(VARIANTS))
        self.constants[method] = self.rng.randrange(3)
        self.write_constant(method)

    def change_within_a_second(self) -> None:
        """To another size and back, or the same: by time and size, Python may take its old bytecode."""
        for _ in range(2):
            self.change_constant()

    def change_unseen(self) -> None:
        """So that size and modification time stay the same, as of a file that is put back."""
        method = self.rng.choice(list(VARIANTS))
        self.constants[method] = self.rng.randrange(3)
        unseen_edit(self.constant_file(method), f"K = {self.constants[method]}\n")
        name = self.rng.choice(FILES)
        self.files[name] = self.rng.randrange(5, 8)
        unseen_edit(self.toy.folder / name, str(self.files[name]))

    def put_back(self) -> None:
        """Something else, and then what it was, with its time."""
        for file in (self.constant_file(self.rng.choice(list(VARIANTS))), self.toy.folder / FILES[0]):
            text = file.read_text(encoding="utf-8")
            unseen_edit(file, "".join("9" if each.isdigit() else each for each in text))
            unseen_edit(file, text)

    def remark(self) -> None:
        method = self.rng.choice(list(VARIANTS))
        self.write_code(method, f'# remark {self.rng.random()}\n"""Or a docstring."""\n\n')
        file = self.toy.folder / "methods" / f"a_{method}.py"
        text = file.read_text(encoding="utf-8").partition("\n# remark")[0]
        file.write_text(f"{text}\n# remark {self.rng.random()}\n", encoding="utf-8")

    def damage_job(self) -> None:
        if not self.whole:
            return
        key, job = self.rng.choice(sorted(self.whole.items(), key=lambda item: item[1]))
        file = self.toy.job_folder(job) / self.rng.choice(OF_A_JOB)
        how = self.rng.choice(["delete", "cut", "flip", "delete all"])
        if how == "delete all":
            shutil.rmtree(file.parent)
        elif how == "delete":
            file.unlink()
        elif how == "cut":
            os.truncate(file, self.rng.randrange(file.stat().st_size))
        else:
            content = bytearray(file.read_bytes())
            content[self.rng.randrange(len(content))] ^= 1 << self.rng.randrange(8)
            file.write_bytes(content)
        self.log.append(f"{how} {job}/{file.name}")
        del self.whole[key]

    def touch_job(self) -> None:
        if self.whole:
            for file in self.toy.job_folder(self.rng.choice(sorted(self.whole.values()))).iterdir():
                os.utime(file)

    def lose_cache(self) -> None:
        shutil.rmtree(self.toy.folder / "workdirs" / ".cache" / self.rng.choice(["jobs", "code", "inputs"]))

    def clean_up(self) -> None:
        """What is not in the last run goes."""
        self.delete_by(self.toy)

    def run_other(self) -> None:
        """Another project on the same workdir runs what is its own, and may clean up."""
        assert self.second is not None
        if self.other is None:
            self.other = DagProject(self.second)
            file = self.second / "accelerator.conf"
            text = file.read_text(encoding="utf-8")
            shared = str(self.toy.folder / "workdirs/main")
            file.write_text(text.replace("./workdirs/main", shared), encoding="utf-8")
        nodes = chains(self.rng.randrange(100, 103))  # none like those of the first
        self.other.write_dag(nodes)
        self.toy.stop_server()
        for job, values in zip(self.other.go(*COMMAND).jobs, expected(nodes), strict=True):
            np.testing.assert_array_equal(np.load(self.toy.job_folder(job) / "x.npy"), values)
        if self.rng.random() < 0.5:
            self.delete_by(self.other)
        self.toy.start_server()

    def delete_by(self, project: DagProject) -> None:
        project.shortloop("gc", "--delete").ok()
        # Others may be needed as well: a job of the last run may be made from another of the same content.
        kept = {k: job for k, job in self.whole.items() if (self.toy.job_folder(job) / "post.json").exists()}
        assert self.current.intersection(self.whole.values()) <= set(kept.values())
        self.whole = kept

    def restart_server(self) -> None:
        self.toy.stop_server()
        self.toy.start_server()

    # What is checked.

    def steps(self) -> dict[str, str]:
        changed = {m: VARIANTS[m][variant] for m, variant in self.variants.items()}
        return {m: STEPS[m].replace(VARIANTS[m][0], changed[m]) for m in VARIANTS}

    def write_code(self, method: str, above: str = "") -> None:
        file = self.toy.folder / "methods" / f"step_{method}.py"
        file.write_text(above + self.steps()[method], encoding="utf-8")

    def constant_file(self, method: str) -> Path:
        return self.toy.folder / "methods" / CONSTANTS[method]

    def write_constant(self, method: str) -> None:
        self.constant_file(method).write_text(f"K = {self.constants[method]}\n", encoding="utf-8")

    def write_file(self, name: str) -> None:
        (self.toy.folder / name).write_text(str(self.files[name]), encoding="utf-8")

    def keys(self) -> list[Any]:
        """What each job is: method, code, options, file by name and content, and content of inputs."""
        values = expected(self.nodes, self.files, self.steps(), self.constants)
        contents = [(node.method, each.tobytes()) for node, each in zip(self.nodes, values)]
        return [
            (
                *(node.method, self.variants[node.method], self.constants[node.method]),
                *(node.number, node.file, self.files.get(node.file)),
                tuple(contents[above] for above in node.of),
            )
            for node in self.nodes
        ]

    def run(self) -> None:
        self.toy.write_dag(self.nodes)
        flags = self.rng.choice([[], ["-q"]])
        ran = self.toy.go(str(AX), "run", *flags, "dag")
        keys = self.keys()
        # Of two jobs with one key any may be built, and the other one uses it.
        built = [key for key, fresh in zip(keys, ran.fresh, strict=True) if fresh]
        assert sorted(built) == sorted({*keys} - {*self.whole}), ran.said
        self.whole |= {key: job for key, job, fresh in zip(keys, ran.jobs, ran.fresh, strict=True) if fresh}
        assert [self.whole[key] for key in keys] == ran.jobs
        self.toy.check(ran, expected(self.nodes, self.files, self.steps(), self.constants))
        self.current = set(ran.jobs)
        self.log.append("run " + " ".join(ran.jobs))


EDIT: list[tuple[Callable[[World], None], int]] = [
    (World.change_number, 4),
    (World.add_job, 3),
    (World.drop_job, 1),
    (World.change_inputs, 3),
    (World.change_file, 3),
    (World.touch_files, 1),
    (World.change_code, 4),
    (World.change_constant, 3),
    (World.change_within_a_second, 2),
    (World.change_unseen, 3),
    (World.put_back, 2),
    (World.remark, 2),
    (World.damage_job, 4),
    (World.touch_job, 1),
    (World.lose_cache, 1),
    (World.restart_server, 1),
    (World.clean_up, 1),
    (World.run_other, 1),
]


def test_random_edits() -> None:
    print(f"SEED={SEED}")
    rng = random.Random(SEED)
    with (
        tempfile.TemporaryDirectory(prefix="sl-") as folder,
        tempfile.TemporaryDirectory(prefix="sl-") as new,
        tempfile.TemporaryDirectory(prefix="sl-") as second,
    ):
        world = World(Path(folder), rng, Path(second))
        world.toy.start_server()
        try:
            world.run()
            edits = 0
            while edits < EDITS:
                for _ in range(rng.randint(1, 3)):
                    (edit,) = rng.choices([each for each, _ in EDIT], [weight for _, weight in EDIT])
                    world.log.append(edit.__name__)
                    edit(world)
                    edits += 1
                world.run()
            same_as_clean(world, Path(new))
        finally:
            print(*world.log, sep="\n")
            world.toy.stop_server()
    print(f"{edits} edits, {len(world.whole)} jobs")


def same_as_clean(world: World, folder: Path) -> None:
    """Byte for byte."""
    clean = World(folder, world.rng)
    clean.nodes, clean.files = world.nodes, world.files
    clean.variants, clean.constants = world.variants, world.constants
    for name in FILES:
        clean.write_file(name)
    for method in VARIANTS:
        clean.write_code(method)
        clean.write_constant(method)
    clean.toy.start_server()
    try:
        clean.run()
    finally:
        clean.toy.stop_server()
    for key in clean.whole:
        old, new = world.toy.job_folder(world.whole[key]), clean.toy.job_folder(clean.whole[key])
        assert (old / "x.npy").read_bytes() == (new / "x.npy").read_bytes()
        assert (old / "record.json").read_bytes() == (new / "record.json").read_bytes()
        assert np.load(new / "x.npy").dtype == np.int64
