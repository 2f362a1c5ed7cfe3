"""The commands that README.md and the pages of docs/ have, and what each is run in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from source_tree import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = ("shortloop", "ax", "make", "pip", "python", "cd", "cp", "mv", "sed", "seq", "git", ".", "docker")
"""What a line begins with, in a block that does not say its language, if it is a command."""
RUN_IN = {
    "README.md": "nothing",
    "docs/caching.md": "my-study",
    "docs/caching.md#A change that is harmless": "bootstrap",
    "docs/cookbook.md": "my-analysis",
    "docs/engines.md": "my-study",
    "docs/first-study.md": "nothing",
    "docs/frames.md": "copy",
    "docs/install.md": "copy",
    "docs/json.md": "my-study",
    "docs/looking-up.md": "my-study",
    "docs/panel.md": "my-panel",
    "docs/profiling.md": "my-analysis",
    "docs/recordings.md": "my-study",
    "docs/stages.md": "my-study",
    "docs/stages.md#A class": "my-analysis",
    "docs/stages.md#A part of a pipeline": "bootstrap",
    "docs/sweep.md": "copy",
    "docs/troubleshooting.md": "my-study",
    "docs/your-own-analysis.md": "nothing",
}
"""The project that commands of a page, or of a section of it, are run in. Nothing: they begin with `init`."""
NOT_RUN = {
    "cp shortloop/eeg/study/default.toml study.toml": "a walk through the code, in a clone of it",
    "shortloop --install-completion": "it edits files of a shell; tests/cli/test_cli_completion.py runs it",
    "pip install '.[example]'": "tests/live/test_live_init.py installs a wheel",
    "pip install '.[eeg]'": "tests/live/test_live_init.py installs a wheel",
    "shortloop init my-study --data path/to/recordings": "tests/live/test_live_folders.py has some",
    "shortloop init ../my-study --data path/to/recordings": "tests/live/test_live_folders.py has some",
    "make run": "tests/live/test_live_clone.py runs it in a clone",
    "make test": "tests/live/test_live_clone.py runs it in a clone, with TESTS",
    "make docs": "tests/test_docs.py builds the pages",
    "shortloop board": "it goes on until Ctrl-C; tests/live/test_live_board.py runs it",
    "SHORTLOOP_ENGINE=dask:tls://scheduler.example:8786 shortloop run": "it needs a cluster; "
    "tests/live/test_live_engines_clusters.py starts one",
    "shortloop run frames": "it takes minutes; the next line does the same with fewer rows",
}
"""Commands that no test runs as they are, and why. All others are run by tests/live/test_live_commands.py."""


@dataclass(frozen=True)
class Block:
    """A block of a page.

    page: its path in the repository.
    section: the heading of the second level that it stands below; empty above the first.
    language: what is said after the backticks.
    text: what is in it.
    """

    page: str
    section: str
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Its commands, without comments."""
        if self.language not in ("", "sh", "bash", "console", "shell"):
            return []
        lines = [re.sub(r"(?:^|\s+)#(?=\s).*", "", line) for line in self.text.splitlines()]
        if not self.language:
            lines = [line for line in lines if re.match(r"(?:\w+=\S+ )*(?:\$ )?(\S+)?", line)[1] in PROGRAMS]  # type: ignore[index]
        return [line.removeprefix("$ ") for line in lines if line.strip()]

    @property
    def file(self) -> str | None:
        """The file that it is of, if its first line says so: ``# FILE``, or ``# FILE, at the end``."""
        found = re.match(r"# ([\w./-]+\.(?:py|toml))(?:, at the end)?\n", self.text)
        return found[1] if found else None

    @property
    def run_in(self) -> str | None:
        """The project that it is run in."""
        return RUN_IN.get(f"{self.page}#{self.section}", RUN_IN.get(self.page))


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """All blocks of a page, in their order."""
    return tuple(_blocks(page))


def _blocks(page: Path) -> Iterator[Block]:
    section, heading = "", ""
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "heading_open":
            heading = token.tag
        elif token.type == "inline" and heading:
            section = token.content if heading == "h2" else section
            heading = ""
        elif token.type == "fence":
            yield Block(page.relative_to(ROOT).as_posix(), section, token.info.strip(), token.content)


def spoken(page: Path) -> list[str]:
    """What a page has in backticks within its text."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        found += [each.content for each in token.children or [] if each.type == "code_inline"]
    return found
