"""A flame graph as a page that needs nothing else.

cProfile counts who calls whom, not whole stacks: the time of a function is split among those above it as its
callers took it, as snakeviz and tuna do. Samples of py-spy are whole stacks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from shortloop.base.text import duration
from shortloop.profile.job_times import Calls, Function, is_file, is_users, place_of

DEEPEST, NARROWEST = 80, 0.001  # rows, and share of the whole below which nothing is drawn
ROW = 22  # pixels
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --own: #e69f00; --library: #a8d4f0;
  --system: #dfe3e8; --phase: #c9e8d9 }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e4e8ec; --paper: #14181d; --own: #8a5800;
  --library: #1d4f70; --system: #343b44; --phase: #1f5540 }} }}
body {{ margin: 16px; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }}
h1 {{ font-size: 1.3em }} p {{ max-width: 60em; overflow-wrap: anywhere }}
#graph {{ position: relative; height: {height}px; overflow: hidden }}
#graph button {{ position: absolute; height: {row}px; padding: 0 3px; overflow: hidden; white-space: nowrap;
  text-align: left; border: 1px solid var(--paper); color: var(--ink); font: 12px/1 system-ui, sans-serif;
  min-width: 0; cursor: zoom-in }}
#graph button:focus-visible {{ outline: 3px solid var(--ink); outline-offset: -3px }}
.own {{ background: var(--own) }} .library {{ background: var(--library) }}
.system {{ background: var(--system) }} .phase {{ background: var(--phase) }}
.key {{ padding: 2px 8px; margin-right: 6px }} #said {{ min-height: 3em }}
</style>
<main><h1>{title}</h1>
<p>{summary}</p>
<p><span class="key own">your own code</span><span class="key library">libraries</span><span class="key
system">Python and Shortloop</span> The width of a function is what it takes with all that it calls.
Select one to zoom in, the first row to zoom out.</p>
<div id="graph" role="group" aria-label="flame graph"></div>
<p id="said" aria-live="polite"></p></main>
<script>
const boxes = {boxes}, graph = document.getElementById("graph"), said = document.getElementById("said");
const buttons = boxes.map(([row, left, width, kind, name, facts]) => {{
  const button = document.createElement("button");
  button.className = kind; button.textContent = name; button.title = name + ": " + facts;
  button.style.top = row * {row} + "px";
  button.onclick = () => zoom(left, width);
  button.onfocus = button.onmouseenter = () => {{ said.textContent = button.title; }};
  graph.append(button);
  return button;
}});
function zoom(from, wide) {{
  boxes.forEach(([row, left, width], at) => {{
    const begin = Math.max(left, from), end = Math.min(left + width, from + wide);
    const part = (end - begin) / wide;
    buttons[at].style.left = 100 * (begin - from) / wide + "%";
    buttons[at].style.width = 100 * part + "%";
    buttons[at].hidden = part < 0.0008;
  }});
}}
zoom(0, 1);
</script></html>
"""


@dataclass
class Frame:
    """A function below those that call it, or a phase, or a process."""

    name: str
    kind: str  # class of its colour
    size: float = 0.0  # seconds or bytes, with all that it calls
    own: float = 0.0
    calls: list[Frame] = field(default_factory=list)


def flame_graph(whole: Frame, title: str, summary: str, amount: Callable[[float], str] = duration) -> str:
    """The page: each function is a box below its caller, as wide as its time, or as its bytes."""
    boxes = _boxes(whole, amount)
    height = (max(row for row, *_ in boxes) + 1) * ROW
    written = json.dumps(boxes).replace("</", "<\\/")
    return PAGE.format(title=escape(title), summary=escape(summary), boxes=written, height=height, row=ROW)


def _boxes(whole: Frame, amount: Callable[[float], str]) -> list[tuple[Any, ...]]:
    """Row, left and width as shares, class, name and facts of each box."""
    boxes = []
    waiting = [(0, 0.0, whole)]
    while waiting:
        row, left, frame = waiting.pop()
        wide = frame.size / whole.size if whole.size else 1.0
        facts = f"{amount(frame.size)}, {amount(frame.own)} of its own"
        boxes.append((row, round(left, 6), round(wide, 6), frame.kind, frame.name, facts))
        for each in sorted(frame.calls, key=lambda each: -each.size):
            share = each.size / whole.size if whole.size else 0.0
            if share >= NARROWEST and row < DEEPEST:
                waiting.append((row + 1, left, each))
            left += share
    return sorted(boxes)


def frame_of_calls(calls: Calls) -> Frame:
    """Calls that cProfile recorded, by phase."""
    phases = []
    for phase, found in calls.stats.items():
        tree = _Tree(found.stats)
        roots = {function: each[3] for function, each in found.stats.items() if not each[4]}
        phases.append(
            Frame(phase, "phase", sum(roots.values()), 0.0, tree.frames(roots, sum(roots.values())))
        )
    return Frame("all processes", "phase", sum(each.size for each in phases), 0.0, phases)


class _Tree:
    """Functions by who calls them."""

    def __init__(self, stats: Mapping[Function, Any]) -> None:
        self._stats, self._whole = stats, sum(each[2] for each in stats.values())
        self._called: defaultdict[Function, dict[Function, float]] = defaultdict(dict)
        for function, (*_, callers) in stats.items():
            for caller, (*_, seconds) in callers.items():
                self._called[caller][function] = seconds

    def frames(
        self, functions: Mapping[Function, float], most: float, above: frozenset[Function] = frozenset()
    ) -> list[Frame]:
        """Frames of functions, which take at most some seconds together; what calls itself is drawn once."""
        given = {each: seconds for each, seconds in functions.items() if each not in above and seconds > 0}
        total = sum(given.values())
        scale = min(1.0, most / total) if total else 1.0
        found = []
        for function, taken in given.items():
            seconds, (own, whole) = taken * scale, self._stats[function][2:4]
            frame = Frame(place_of(function), kind_of(function), seconds)
            part = seconds / whole if whole else 0.0
            frame.own = min(own * part, seconds)
            if seconds >= NARROWEST * self._whole and len(above) < DEEPEST:
                below = {each: each_taken * part for each, each_taken in self._called[function].items()}
                frame.calls = self.frames(below, seconds - frame.own, above | {function})
            found.append(frame)
        return found


def frame_of_stacks(stacks: Mapping[tuple[Function, ...], float]) -> Frame:
    """Stacks, outermost call first, with their seconds or bytes."""
    whole = Frame("all processes", "phase", sum(stacks.values()))
    known: dict[tuple[Function, ...], Frame] = {(): whole}
    for stack, size in stacks.items():
        for depth in range(1, len(stack) + 1):
            key = stack[:depth]
            if key not in known:
                known[key] = Frame(place_of(key[-1]), kind_of(key[-1]))
                known[key[:-1]].calls.append(known[key])
            known[key].size += size
        known[stack].own += size
    return whole


def kind_of(function: Function) -> str:
    if is_users(function):
        return "own"
    return "library" if is_file(function) and "site-packages" in function[0] else "system"
