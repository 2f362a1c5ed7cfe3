"""``shortloop graph``: the graph of a pipeline, by stage or by partition, as a table, Mermaid or SVG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shortloop.base.text import counted, duration
from shortloop.board.graph import WORDS, Key, Node, graph_of, mermaid, svg
from shortloop.cli.output import check_file, print_json, print_lines, print_table


def print_graph(script: str, by_partition: bool, file: Path | None, as_json: bool = False) -> None:
    """Print the graph of each pipeline of a build script, or write the picture of the last one."""
    from shortloop.plan.dry_run import dry_run

    check_file(file, "graph", (".svg", ".mmd"))
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
