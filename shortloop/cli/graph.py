"""``shortloop graph``: the graph of a pipeline, by stage or by partition, as a table, Mermaid or SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.text import counted, duration
from shortloop.cli.output import print_json, print_lines, print_table
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built, BuiltDataset
from shortloop.plan.planner import Planner
from shortloop.plan.request import Request

Key = tuple[str, str]  # stage, and partition, or an empty string
WORDS = {REUSE: "cached", BUILD: "to build", PERHAPS: "perhaps"}
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
    states: Counter[str] = field(default_factory=Counter)  # number of jobs by what would be done
    seconds: float = 0.0  # of the jobs that exist, or were in their place before
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return f"{self.stage} {self.partition}".strip()

    @property
    def state(self) -> str:
        """What would be done with most urgency: one job to build makes it "build"."""
        return next(each for each in (BUILD, PERHAPS, REUSE) if self.states[each])


def print_graph(script: str, by_partition: bool, file: Path | None, as_json: bool = False) -> None:
    """Print the graph of each pipeline of a build script, or write the picture of the last one."""
    from shortloop.plan.dry_run import dry_run

    if file is not None and not (file.suffix in (".svg", ".mmd") and file.parent.is_dir()):
        expected = "a name that ends in .svg or .mmd, in a folder that exists"
        raise InputError("a graph cannot be written there", file=file, expected=expected)
    planned = dry_run(script)
    graphs = [(plan, graph_of(plan, planned.seconds, by_partition)) for plan in planned.plans]
    if file is not None:
        last, nodes = graphs[-1]
        title = f"{last.name}: what a run would do{' at first' if last.waits_for else ''}"
        file.write_text(svg(nodes, title) if file.suffix == ".svg" else mermaid(nodes), encoding="utf-8")
        print_lines(f"written: {file}")
    elif as_json:
        document = [{"pipeline": plan.name, "nodes": _fields(nodes)} for plan, nodes in graphs]
        print_json(script=script, graphs=document)
    else:
        for plan, nodes in graphs:
            _print(nodes)
            if plan.waits_for is not None:
                print_lines(f"later stages are unknown: they depend on the results of {plan.waits_for.name}")


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


def svg(nodes: Mapping[Key, Node], title: str) -> str:
    """A picture: each node below all that it is made from; no edge runs through a node."""
    rows, edges = _arranged(nodes)
    size: dict[Any, tuple[float, float]] = {key: (GAP / 2, 0.0) for row in rows for key in row}
    for key, node in nodes.items():
        lines = _lines(node)
        size[key] = (max(map(len, lines)) * CHARACTER + 2 * MARGIN, len(lines) * LINE + MARGIN)
    widths = [sum(size[key][0] + GAP for key in row) for row in rows]
    width = max(len(title) * CHARACTER, *widths) + 2 * MARGIN
    at: dict[Any, tuple[float, float, float]] = {}  # middle, top and bottom of each
    top = 2 * MARGIN + LINE
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
        why = "; ".join(f"{number} × {reason}" for reason, number in node.reasons.most_common(3))
        parts.append(f"<g><title>{escape('; '.join(filter(None, (*_lines(node), why))))}</title>")
        parts.append(
            f'<rect class="{node.state}" x="{middle - wide / 2:.1f}" y="{above:.1f}" width="{wide:.1f}" '
            f'height="{below - above:.1f}" rx="6"/>'
        )
        for place, line in enumerate(_lines(node), 1):
            parts.append(f'<text x="{middle:.1f}" y="{above + place * LINE + 3:.1f}">{escape(line)}</text>')
        parts.append("</g>")
    height = top - LAYER + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">\n'
        f'<style>{STYLE}</style>\n<text x="{width / 2:.1f}" y="{MARGIN + LINE:.1f}">{escape(title)}</text>'
    )
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
    states = " + ".join(f"{node.states[each]} {WORDS[each]}" for each in WORDS if node.states[each])
    time = f", {duration(node.seconds)}" if node.seconds else ""
    return [node.name, f"{states}{time}"]


def _print(nodes: Mapping[Key, Node]) -> None:
    rows = []
    for node in nodes.values():
        number = [str(node.states[each] or "") for each in WORDS]
        above = ", ".join(nodes[each].name for each in node.above)
        rows.append((node.name, *number, duration(node.seconds) if node.seconds else "", above))
    columns = (*WORDS.values(), "time")
    print_table(("stage", *columns, "made from"), rows, right=columns, wrap="made from")
    jobs = counted(sum(node.states.total() for node in nodes.values()), "job")
    print_lines("", f"{jobs}; `shortloop graph --output graph.svg` draws them")


def _fields(nodes: Mapping[Key, Node]) -> list[dict[str, object]]:
    return [
        {
            "stage": node.stage,
            "partition": node.partition or None,
            "made_from": [list(filter(None, each)) for each in node.above],
            **{what: node.states[what] for what in WORDS},
            "seconds": node.seconds,
            "reasons": {**node.reasons},
        }
        for node in nodes.values()
    ]
