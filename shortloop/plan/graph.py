"""Graph of a plan: jobs grouped by stage, or by stage and partition, and which are made from which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built, BuiltDataset
from shortloop.plan.planner import Planner
from shortloop.plan.request import Request

Key = tuple[str, str]  # stage, and partition, or an empty string


@dataclass
class Node:
    """Jobs of one stage, or of one partition in it."""

    stage: str
    partition: str  # empty: several, or none
    above: set[Key] = field(default_factory=set)  # nodes that its jobs are made from
    states: Counter[str] = field(default_factory=Counter)  # number of jobs by what would be done
    seconds: float = 0.0  # of the jobs that exist, or were in their place before
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def state(self) -> str:
        """What would be done with most urgency: one job to build makes it "build"."""
        return next(each for each in (BUILD, PERHAPS, REUSE) if self.states[each])


def graph_of(plan: Planner, means: Mapping[str, float], by_partition: bool = False) -> dict[Key, Node]:
    """Group the jobs of a plan into nodes, in the order of their first jobs."""

    def key(job: Built | BuiltDataset | Request) -> Key:
        return job.stage, (job.partition or "") if by_partition else ""

    nodes: dict[Key, Node] = {}
    for job in plan.jobs:
        node = nodes.setdefault(key(job), Node(*key(job)))
        node.states[job.plan] += 1
        node.seconds += job.seconds or means.get(job.stage, 0.0)
        if job.reason:
            node.reasons[job.reason] += 1
    for each in plan.requests:
        if (of := key(each)) in nodes:
            nodes[of].above |= {key(job) for job in each.above()} & nodes.keys()
    return nodes


def layers(nodes: Mapping[Key, Node]) -> list[list[Key]]:
    """Put each node below all that it is made from; a stage that is made from itself stays where it is."""
    depth: dict[Key, int] = {}
    for key, node in nodes.items():  # jobs come after those that they are made from
        depth[key] = max((depth[each] + 1 for each in node.above if each in depth and each != key), default=0)
    lowest = max(depth.values(), default=-1)
    return [[key for key in depth if depth[key] == layer] for layer in range(lowest + 1)]
