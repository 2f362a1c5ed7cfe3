"""`shortloop graph`: nodes, states and edges of a pipeline as a table, JSON, Mermaid and SVG."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jobs_project import empty_project, own_package, write
from jobs_runs import Runs

from shortloop.base.errors import InputError
from shortloop.cli.lookup.graph import print_graph
from shortloop.plan import dry_run
from shortloop.plan.dry_run import DryRun
from shortloop.plan.pipeline import Built, Run

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)
METHOD = """\
options = {{"partition": "", "size": 0}}
jobs = ({jobs})


def synthesis():
    from shortloop.step import f
"""
JOBS = {"load": "", "fit": '"of",', "score": '"of",', "page": '["of"],'}


@pytest.fixture
def runs(package: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Two partitions, loaded and fitted, their scores, and a page of all: made once; then `size` changes."""
    write(package, "shortloop/step.py", "def f(): return 1\n")
    for name, jobs in JOBS.items():
        write(package, f"methods/a_{name}.py", METHOD.format(jobs=jobs))
    size = 0

    def pipeline(run: Run) -> Built:
        loaded = [run.build("load", partition=name) for name in ("A", "B <1>")]
        fits = [run.build("fit", partition=each.partition, of=each, size=size) for each in loaded]
        scores = [run.build("score", partition=each.partition, of=each) for each in fits]
        return run.build("page", of=[*loaded, *scores])

    found = Runs(package)
    found.run(pipeline)
    size = 1
    planned = DryRun()
    planned.plans = [found.plan(pipeline)]
    monkeypatch.setattr(dry_run, "dry_run", lambda script: planned)
    monkeypatch.setattr("shortloop.cli.output._printed", [])  # forks of later tests print their own
    return found


def test_as_a_table(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    print_graph("build_toy", False, None)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["stage", "cached", "to", "build", "perhaps", "time", "made", "from"]
    by_stage = {row[0]: row[1:] for row in rows[1:5]}
    assert by_stage["load"][0] == by_stage["fit"][0] == by_stage["score"][0] == "2"
    assert (by_stage["fit"][-1], by_stage["page"][-2:]) == ("load", ["load,", "score"])


@pytest.mark.parametrize("by_partition", [False, True])
def test_as_json(runs: Runs, capsys: pytest.CaptureFixture[str], by_partition: bool) -> None:
    print_graph("build_toy", by_partition, None, as_json=True)
    (graph,) = json.loads(capsys.readouterr().out)["graphs"]
    found = {(each["stage"], each["partition"]): each for each in graph["nodes"]}
    states = {of: [node[name] for name in ("reuse", "build", "perhaps")] for of, node in found.items()}
    if not by_partition:
        wanted = {"load": [2, 0, 0], "fit": [0, 2, 0], "score": [0, 0, 2], "page": [0, 0, 1]}
        assert states == {(name, None): each for name, each in wanted.items()}
        return
    assert len(states) == 7
    assert states["fit", "A"] == [0, 1, 0]
    page = graph["nodes"][-1]
    assert page["made_from"] == [["load", "A"], ["load", "B <1>"], ["score", "A"], ["score", "B <1>"]]


def test_as_mermaid(runs: Runs, tmp_path: Path) -> None:
    print_graph("build_toy", True, tmp_path / "graph.mmd")
    said = (tmp_path / "graph.mmd").read_text(encoding="utf-8")
    assert said.startswith("flowchart TD\n")
    assert re.search(r'\["fit B &lt;1&gt;<br>1 to build.*"\]:::build$', said, re.M)
    assert said.count(" --> ") == 2 + 2 + 4


@pytest.mark.parametrize("by_partition", [False, True])
def test_as_a_picture(runs: Runs, tmp_path: Path, by_partition: bool) -> None:
    """Each node has its state in words and in its line; none covers another, or an edge of others."""
    print_graph("build_toy", by_partition, tmp_path / "graph.svg")
    picture = ElementTree.parse(tmp_path / "graph.svg").getroot()
    space = {"s": "http://www.w3.org/2000/svg"}
    texts = [each.text or "" for each in picture.iterfind(".//s:text", space)]
    assert "page" in texts
    assert any(text.startswith("1 perhaps") for text in texts)
    assert ("fit B <1>" in texts) == by_partition
    rects = picture.findall(".//s:rect", space)
    assert len(rects) == (7 if by_partition else 4)
    assert [each.get("class") for each in rects].count("build") == (2 if by_partition else 1)
    boxes = [[float(each.attrib[name]) for name in ("x", "y", "width", "height")] for each in rects]
    for one, other in combinations(boxes, 2):
        apart = (abs(one[0] + one[2] / 2 - other[0] - other[2] / 2), abs(one[1] - other[1]))
        assert apart[0] >= (one[2] + other[2]) / 2 or apart[1] >= one[3]
    for path in picture.iterfind(".//s:path", space):
        numbers = [*map(float, re.findall(r"-?[\d.]+", path.attrib["d"]))]
        for x, y in (numbers[:2], [numbers[0] if len(numbers) == 3 else numbers[-2], numbers[-1]]):
            assert not any(a < x < a + w and b < y < b + h for a, b, w, h in boxes)


@pytest.mark.parametrize("name", ["graph.doc", "nowhere/graph.svg"])
def test_where_no_graph_can_be_written_is_refused(runs: Runs, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="a graph cannot be written there"):
        print_graph("build_toy", False, tmp_path / name)
