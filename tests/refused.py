"""Libraries that are as if they were not installed, in all processes of an environment."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

# Python runs it as it starts. The library is found by no import, and by nobody who asks whether it is there.
REFUSE = """\
import sys


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Refuse())
"""


def refusing(folder: Path, libraries: Collection[str]) -> Path:
    """A folder that, first on PYTHONPATH, takes libraries away; it is made in another one."""
    made = folder / "refused"
    made.mkdir()
    (made / "sitecustomize.py").write_text(REFUSE.format(names=sorted(libraries)), encoding="utf-8")
    return made
