"""Settings that no result depends on are no part of the code; all that might be something else is."""

from __future__ import annotations

import ast

import pytest

from shortloop.keys.source import normalised

CLASS = """
from shortloop import Stage
class Fit(Stage):
    "It fits."
    {line}
    def compute(self, unit): return 1
"""
FUNCTION = """
from shortloop import stage
@stage({given})
def fit(rows): return 1
"""


def said(text: str) -> str:
    return normalised(ast.parse(text))


@pytest.mark.parametrize(
    "line",
    ["retries = 2", "timeout = '5 min'", "memory: ClassVar[int] = 30 * 10**9", "cores = 4", "timeout = None"],
)
def test_a_setting_of_a_class_is_left_out(line: str) -> None:
    assert said(CLASS.format(line=line)) == said(CLASS.format(line=""))


@pytest.mark.parametrize(
    "text",
    [
        CLASS.replace("from shortloop import Stage", "import shortloop").replace("Stage", "shortloop.Stage"),
        CLASS.replace(
            "from shortloop import Stage", "from shortloop.stages.stage import CollectingStage as Stage"
        ),
        CLASS.replace("(Stage)", "(Base)") + "class Base(Stage): pass\n",
    ],
)
def test_a_class_is_known_by_what_it_imports(text: str) -> None:
    assert said(text.format(line="retries = 2")) == said(text.format(line=""))


@pytest.mark.parametrize("given", ["retries=2", "cores=2, timeout='5 min'", "memory=30e9"])
def test_a_setting_of_a_decorator_is_left_out(given: str) -> None:
    assert said(FUNCTION.format(given=given)) == said(FUNCTION.replace("({given})", ""))
    assert said(FUNCTION.format(given=f"units=of, {given}")) == said(FUNCTION.format(given="units=of"))


@pytest.mark.parametrize(
    "text",
    [
        CLASS.replace("{line}", "on_error = '{0}'"),
        CLASS.replace("{line}", "retries = len('{0}')"),
        CLASS.replace("{line}", "retries: int = {0}"),
        CLASS.replace("{line}", "retries = {0}; seeds = retries"),
        CLASS.replace("{line}", "retries = {0}\n    seeds = vars()"),
        CLASS.replace("{line}", "retries = {0}\n    def __init_subclass__(cls): pass"),
        CLASS.replace("{line}", "retries = seeds = {0}"),
        CLASS.replace("{line}", "def compute(self, retries={0}): pass"),
        CLASS.replace("{line}", "retries = {0}").replace("(Stage)", "(Stage, Other)"),
        CLASS.replace("{line}", "retries = {0}").replace("(Stage)", "(Stage, metaclass=Other)"),
        CLASS.replace("{line}", "retries = {0}").replace("from shortloop", "from mine"),
        CLASS.replace("{line}", "retries = {0}") + "class Stage: pass",
        CLASS.replace("{line}", "retries = {0}") + "from mine import *",
        CLASS.replace("{line}", "retries = {0}").replace("class Fit", "Stage = other\nclass Fit"),
        CLASS.replace("{line}", "retries = {0}").replace("(Stage)", "(Fit)"),
        CLASS.replace("{line}", "retries = {0}").replace("(Stage)", "(Base)")
        + "class Base(Stage):\n    def __init_subclass__(cls): pass",
        "class Config:\n    retries = {0}\n",
        "retries = {0}\n",
        "fetch(retries={0})\n",
        FUNCTION.replace("{given}", "on_error='{0}'"),
        FUNCTION.replace("{given}", "units=of({0})"),
        FUNCTION.replace("{given}", "retries=Count({0})"),
        FUNCTION.replace("{given}", "retries={0}").replace("from shortloop", "from mine"),
        FUNCTION.replace("{given}", "retries={0}") + "def stage(**more): return print\n",
    ],
)
def test_all_else_is_code(text: str) -> None:
    first, second = (text.replace("{0}", each) for each in ("1", "2"))
    assert said(first) != said(second)
