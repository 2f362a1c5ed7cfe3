"""Which jobs of a pipeline a selection means, what of them is planned, and what a run builds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from cases import first_cases
from jobs_exax import Exax
from jobs_project import write
from jobs_runs import Told
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built, Run
from shortloop.plan.planner import Lookup, Planner
from shortloop.plan.selected_part import ASKED, Part, choose
from shortloop.plan.selection import SELECTION, Selection
from shortloop.run.build_jobs import Executor
from shortloop.store.store import Store


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(), ""),
        (Selection(until="train"), "--until train"),
        (Selection(only="train", partition="A b"), "--only train --partition A b"),
        (Selection(force=("main-1", "train")), "--force main-1 --force train"),
    ],
)
def test_there_and_back(selection: Selection, words: str) -> None:
    environ = {SELECTION: "of another run", "HOME": "/"}
    selection.into(environ)
    assert Selection.given(environ) == selection
    assert selection.words == words
    assert (SELECTION in environ) == bool(words)


@pytest.mark.parametrize("text", ["train", "[]", '{"force": 1}', '{"force": [], "stage": "x"}'])
def test_a_variable_that_says_something_else(text: str) -> None:
    with refusal("SHORTLOOP_SELECTION"):
        Selection.given({SELECTION: text})
    for wrong in ({"until": "a", "only": "b"}, {"partition": "A"}):
        with pytest.raises(InputError):
            Selection(**wrong)  # type: ignore[arg-type]


METHOD = "options = {'number': 0, 'seen': 0}\njobs = (['of'],)\n\n\ndef synthesis():\n    pass\n"


class Graph:
    """Jobs made from any of those before them, built by an exax that is none."""

    def __init__(self, project: Path, nodes: list[tuple[str, str | None, list[int]]]) -> None:
        self.nodes = nodes
        self.exax = Exax(project)
        self.seen = dict.fromkeys(range(len(nodes)), 0)
        for stage, _, _ in nodes:
            write(project, f"methods/a_{stage}.py", METHOD)

    def pipeline(self, run: Run) -> Built:
        made: list[Built] = []
        for number, (stage, partition, of) in enumerate(self.nodes):
            above = [made[each] for each in of]
            made.append(
                run.build(stage, partition=partition, of=above, number=number, seen=self.seen[number])
            )
        return made[-1]

    def choose(self, **asked: str | tuple[str, ...]) -> Part:
        with Store() as store:
            plan = Planner(Lookup(store, "graph"))
            self.pipeline(plan)
            return choose(Selection(**asked), plan, store.index)  # type: ignore[arg-type]

    def run(self, part: Part) -> list[int]:
        """The jobs that were built, by number."""
        self.exax.asked.clear()
        with Store() as store:
            lookup = Lookup(store, "graph")
            run = Executor(lookup, self.exax, Told(), part=part)
            self.pipeline(run)
            store.index.put_in_places(lookup.places)
        assert [job for job in run.done if job.fresh] == [job for job in run.jobs if job.fresh]
        return [int(options["number"]) for _, options, _ in self.exax.asked]

    def in_places(self) -> dict[int, str]:
        with Store() as store:
            places = store.index.places()
        return {self._number(place.stage, place.partition): job for place, job in places.items()}

    def _number(self, stage: str, partition: str | None) -> int:
        (found,) = [n for n, node in enumerate(self.nodes) if node[:2] == (stage, partition)]
        return found


DIAMOND: list[tuple[str, str | None, list[int]]] = [
    ("read", "A", []),
    ("read", "B", []),
    ("fit", "A", [0]),
    ("fit", "B", [1]),
    ("check", None, [0, 1]),
    ("all", None, [2, 3]),
]


@pytest.fixture
def graph(package: Path) -> Graph:
    return Graph(package, DIAMOND)


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ({"until": "read"}, [0, 1]),
        ({"until": "fit"}, [0, 1, 2, 3]),
        ({"until": "fit", "partition": "B"}, [1, 3]),
        ({"until": "check"}, [0, 1, 4]),
        ({"until": "all"}, [0, 1, 2, 3, 5]),
    ],
)
def test_up_to_a_stage(graph: Graph, asked: dict[str, str], chosen: list[int]) -> None:
    part = graph.choose(**asked)
    assert [job.plan for job in part.plan] == [BUILD] * len(chosen)
    assert graph.run(part) == chosen
    assert sorted(graph.in_places()) == chosen
    assert graph.run(part) == []


@first_cases(1, "seed", range(4))
def test_any_part_of_any_graph(package: Path, seed: int) -> None:
    """What is built is what is asked for and was not there; what is left out keeps its job, in any order."""
    rng = random.Random(seed)
    nodes: list[tuple[str, str | None, list[int]]] = [
        (f"s{n % 4}", f"p{n // 4}", rng.sample(range(n), min(n, rng.randrange(3)))) for n in range(10)
    ]
    graph = Graph(package, nodes)
    there: set[int] = set()
    for _ in range(4):
        stage, partition, _ = rng.choice(nodes)
        wanted = {n for n, node in enumerate(nodes) if node[:2] == (stage, partition)}
        for number in reversed(range(10)):
            if number in wanted:
                wanted |= set(nodes[number][2])
        before = graph.in_places()
        assert set(graph.run(graph.choose(until=stage, partition=str(partition)))) == wanted - there
        there |= wanted
        others = [
            {n: job for n, job in each.items() if n not in wanted} for each in (before, graph.in_places())
        ]
        assert others[0] == others[1]


def test_one_stage_alone(graph: Graph) -> None:
    with refusal("missing: read A, read B"):
        graph.choose(only="fit")
    graph.run(graph.choose(until="read"))
    assert graph.run(graph.choose(only="fit", partition="A")) == [2]
    with refusal("missing: fit B"):
        graph.choose(only="all")
    assert graph.run(graph.choose(only="check")) == [4]


def test_a_run_that_finds_something_missing_or_other_jobs_says_so(graph: Graph) -> None:
    """As when a file was changed between the plan and the run, which alone reads it."""
    graph.run(graph.choose())
    part = graph.choose(only="fit")
    graph.seen[1] = 1
    with refusal(r"missing: read B\n"):
        graph.run(part)
    with refusal(r"missing: read B, fit B\n"):
        graph.choose(only="all")
    assert graph.run(graph.choose(only="fit", partition="A")) == []
    part = graph.choose(until="fit")
    graph.nodes = DIAMOND[1:]
    with refusal("other jobs than when it was planned"):
        graph.run(part)


def test_nothing_is_made_from_a_job_that_rejected_its_input(graph: Graph) -> None:
    graph.exax.problems = {"read B": "no such numbers"}
    with refusal("no such numbers"):
        graph.run(graph.choose())
    for stage in ("fit", "check"):
        with refusal("no such numbers"):
            graph.choose(only=stage)
    assert graph.run(graph.choose(only="fit", partition="A")) == [2]


def test_once_more_of_a_stage_of_a_job_and_within_a_part(graph: Graph) -> None:
    graph.run(graph.choose())
    job = graph.in_places()[2]
    part = graph.choose(force=("read", job))
    assert [(each.plan, each.reason) for each in part.plan] == [
        *[(BUILD, ASKED)] * 3,
        *[(PERHAPS, "if read comes out different")] * 2,
        (PERHAPS, "if fit comes out different"),
    ]
    assert graph.run(part) == [0, 1, 2]
    assert graph.in_places()[2] != job
    assert graph.run(graph.choose()) == []
    part = graph.choose(only="fit", partition="A", force=("fit",))
    assert [(each.stage, each.partition, each.plan) for each in part.plan] == [("fit", "A", BUILD)]
    assert graph.run(part) == [2]
    with refusal("not part of this run"):
        graph.choose(only="fit", partition="A", force=(graph.in_places()[3],))
    graph.seen[4] = 1  # a job that is built anyway may be named by the id that it has in the last run
    part = graph.choose(force=(graph.in_places()[4],))
    assert [job.plan for job in part.plan] == [REUSE] * 4 + [BUILD, REUSE]
    assert part.plan[4].reason == "option seen: 0 → 1"
    assert graph.run(part) == [4]
