"""The graph of a pipeline, by stage or by partition: its nodes, and how they are drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from shortloop.base.text import duration, one_line
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built, BuiltDataset
from shortloop.plan.planner import Planner
from shortloop.plan.request import Request

Key = tuple[str, str]  # stage, and partition, or an empty string
WORDS = {REUSE: "cached", BUILD: "to build", PERHAPS: "perhaps"}
"""Of jobs in a plan."""
BUILT, RUNNING, WAITING, FAILED, LEFT = "built", "running", "waiting", "failed", "left"
STATES = {
    REUSE: "cached",
    BUILT: "built",
    RUNNING: "running",
    WAITING: "waiting",
    BUILD: "to build",
    PERHAPS: "perhaps",
    FAILED: "failed",
    LEFT: "not built",
}
"""Of jobs in a plan or a run, in words."""
URGENCY = (FAILED, RUNNING, BUILD, WAITING, PERHAPS, LEFT, BUILT, REUSE)
CHARACTER, LINE, MARGIN, GAP, LAYER = 7.4, 17.0, 12.0, 26.0, 52.0  # pixels
SWEEPS = 4  # up and down, to put nodes above those that are made from them
STYLE = """\
svg { --ink: #1b1f24; --paper: #fff; --edge: #6e7781; --cached: #0072B2; --build: #D55E00; --perhaps: #9a6a00;
  background: var(--paper); font: 13px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e4e8ec; --paper: #14181d; --edge: #8b949e; --cached: #6cb8ea; --build: #ff9a5c;
    --perhaps: #e0b050; }
}
text { fill: var(--ink); text-anchor: middle } g text:first-of-type { font-weight: 600 }
rect { fill: var(--paper); stroke-width: 2 } path { fill: none; stroke: var(--edge); stroke-width: 1.3 }
.reuse { stroke: var(--cached) } .build { stroke: var(--build); stroke-width: 3.5 }
.perhaps { stroke: var(--perhaps); stroke-dasharray: 6 4 }
"""


@dataclass
class Node:
    """Jobs of one stage, or of one partition in it."""

    stage: str
    partition: str  # empty: several, or none
    above: list[Key] = field(default_factory=list)  # nodes that its jobs are made from
    states: Counter[str] = field(default_factory=Counter)  # number of jobs by one of `STATES`
    seconds: float = 0.0  # of the jobs that exist, or were in their place before
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return f"{self.stage} {self.partition}".strip()

    @property
    def state(self) -> str:
        """The most urgent state of a job: one job to build makes it "build"."""
        return next((each for each in URGENCY if self.states[each]), REUSE)


def graph_of(plan: Planner, means: Mapping[str, float], by_partition: bool) -> dict[Key, Node]:
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
    edges = {(key(job), key(each)) for each in plan.requests for job in each.above()}
    for of, node in nodes.items():
        node.above = [above for above in nodes if (above, of) in edges]
    return nodes


def mermaid(nodes: Mapping[Key, Node]) -> str:
    """A flowchart, which forges and documentation tools draw."""
    number = {key: f"n{place}" for place, key in enumerate(nodes)}
    lines = ["flowchart TD"]
    for key, node in nodes.items():
        said = "<br>".join(escape(each, quote=False).replace('"', "#quot;") for each in _lines(node))
        lines.append(f'  {number[key]}["{said}"]:::{node.state}')
        lines += [f"  {number[each]} --> {number[key]}" for each in node.above]
    lines += [
        f"  classDef {REUSE} stroke:#0072B2,stroke-width:2px",
        f"  classDef {BUILD} stroke:#D55E00,stroke-width:4px",
        f"  classDef {PERHAPS} stroke:#9a6a00,stroke-width:2px,stroke-dasharray:6 4",
    ]
    return "\n".join([*lines, ""])


def svg(nodes: Mapping[Key, Node], title: str, address: Callable[[Node], str] | None = None) -> str:
    """A picture: each node below all that it is made from; no edge runs through a node.

    With addresses it is a part of a page, which has its style: nodes are links, and the title is not drawn.
    """
    rows, edges = _arranged(nodes)
    size: dict[Any, tuple[float, float]] = {key: (GAP / 2, 0.0) for row in rows for key in row}
    for key, node in nodes.items():
        lines = _lines(node)
        size[key] = (max(map(len, lines)) * CHARACTER + 2 * MARGIN, len(lines) * LINE + MARGIN)
    widths = [sum(size[key][0] + GAP for key in row) for row in rows]
    width = max(0 if address else len(title) * CHARACTER, *widths) + 2 * MARGIN
    at: dict[Any, tuple[float, float, float]] = {}  # middle, top and bottom of each
    top = MARGIN if address else 2 * MARGIN + LINE
    for row, wide in zip(rows, widths, strict=True):
        height, left = max(size[key][1] for key in row), (width - wide) / 2
        for key in row:
            at[key] = (left + (size[key][0] + GAP) / 2, top, top + height)
            left += size[key][0] + GAP
        top += height + LAYER
    parts = [_curve(at[one], at[other]) for one, other in edges]
    passes = (each for key, each in at.items() if key not in nodes)
    parts += [f'<path d="M{middle:.1f} {above:.1f}V{below:.1f}"/>' for middle, above, below in passes]
    for key, node in nodes.items():
        (middle, above, below), (wide, _) = at[key], size[key]
        why = "; ".join(f"{number} × {one_line(reason)}" for reason, number in node.reasons.most_common(3))
        parts.append(f'<a href="{escape(address(node))}">' if address else "<g>")
        parts.append(f"<title>{escape('; '.join(filter(None, (*_lines(node), why))))}</title>")
        parts.append(
            f'<rect class="{node.state}" x="{middle - wide / 2:.1f}" y="{above:.1f}" width="{wide:.1f}" '
            f'height="{below - above:.1f}" rx="6"/>'
        )
        for place, line in enumerate(_lines(node), 1):
            parts.append(f'<text x="{middle:.1f}" y="{above + place * LINE + 3:.1f}">{escape(line)}</text>')
        parts.append("</a>" if address else "</g>")
    height = top - LAYER + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="{"group" if address else "img"}" '
        f'aria-label="{escape(title)}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}">'
    )
    if not address:
        top_middle = f'x="{width / 2:.1f}" y="{MARGIN + LINE:.1f}"'
        head += f"\n<style>{STYLE}</style>\n<text {top_middle}>{escape(title)}</text>"
    return "\n".join([head, *parts, "</svg>", ""])


def _arranged(nodes: Mapping[Key, Node]) -> tuple[list[list[Any]], list[tuple[Any, Any]]]:
    """Order nodes in layers to cross few edges; an edge over several layers passes a place in each."""
    # Sugiyama, Tagawa and Toda 1981, Methods for visual understanding of hierarchical system structures.
    depth: dict[Any, int] = {}
    for key, node in nodes.items():  # a stage that is made from itself stays where it is
        depth[key] = max((depth[each] + 1 for each in node.above if each in depth), default=0)
    rows: list[list[Any]] = [[key for key in depth if depth[key] == row] for row in sorted({*depth.values()})]
    edges: dict[tuple[Any, Any], None] = {}
    for key, node in nodes.items():
        for above in node.above:
            last: Any = above
            for layer in range(depth[above] + 1, depth[key]):
                step = (above, layer, "passes")  # shared by all edges from there
                if step not in rows[layer]:
                    rows[layer].append(step)
                edges[last, step] = None
                last = step
            if above != key:
                edges[last, key] = None
    for sweep in range(2 * SWEEPS):
        place = {key: number / len(row) for row in rows for number, key in enumerate(row)}
        for row in rows:
            near = {key: [place[one] for one, other in edges if other == key] for key in row}
            if sweep % 2:
                near = {key: [place[other] for one, other in edges if one == key] for key in row}
            row.sort(key=lambda key: sum(near[key]) / len(near[key]) if near[key] else place[key])
            place |= {key: number / len(row) for number, key in enumerate(row)}
    return rows, [*edges]


def _curve(above: tuple[float, float, float], below: tuple[float, float, float]) -> str:
    (x, _, y), (to, end, _) = above, below
    bend = max(abs(end - y) / 2, LAYER / 2)
    return f'<path d="M{x:.1f} {y:.1f}C{x:.1f} {y + bend:.1f} {to:.1f} {end - bend:.1f} {to:.1f} {end:.1f}"/>'


def _lines(node: Node) -> list[str]:
    """The texts of a node: its name, how many jobs it has in which state, and their time."""
    states = " + ".join(f"{node.states[each]} {STATES[each]}" for each in STATES if node.states[each])
    time = f", {duration(node.seconds)}" if node.seconds else ""
    return [one_line(node.name), f"{states}{time}"]
