"""The example of docs/extending.md, two stages, as a project."""

from __future__ import annotations

import re
from typing import ClassVar

from live_project import ROOT, EmptyProject

BUILT = re.compile(r"\] built (\S+) +([AB]?) +(main-\d+) +[\d.]+ s  (.*)")


def documented_files() -> dict[str, str]:
    """Files that docs/extending.md gives in full, by their paths."""
    text = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^`(\w+/\w+\.py)`:\n\n```python\n(.*?)^```$", text, re.M | re.S))


class BootstrapProject(EmptyProject):
    """Means of A and of B, and a table of both."""

    sources: ClassVar = {
        **documented_files(),
        **{
            f"data/{name}.txt": "".join(f"{first + each}\n" for each in range(40))
            for name, first in (("A", 1), ("B", 30))
        },
    }

    def edit_method(self, old: str, new: str) -> None:
        """Change the code of the first stage."""
        self.edit("methods/a_bootstrap.py", old, new)

    def built(self, *arguments: str) -> dict[str, str]:
        """Run it; why each job was built, by stage and partition."""
        said = self.works("run", "bootstrap", *arguments)
        return {f"{stage} {who}".strip(): why for stage, who, _, why in BUILT.findall(said)}

    def refused(self, *arguments: str) -> str:
        """What a command says that is refused."""
        said = self.shortloop(*arguments).fails()
        assert "Traceback" not in said, said
        return said

    def in_places(self) -> dict[str, str]:
        """The job in each place."""
        code = (
            "from shortloop.store.store import Store\nfor p, j in Store().index.places().items():"
            "\n    print(f'{p.stage} {p.partition or str()}'.strip(), j, sep=':')"
        )
        return dict(line.split(":") for line in self.python(code).splitlines())
