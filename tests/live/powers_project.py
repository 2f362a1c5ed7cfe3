"""A project of two stages and a build script with settings: a number is made, and raised to a power."""

from __future__ import annotations

from typing import ClassVar

from live_project import EmptyProject, stages

METHODS = stages("""\
# first
from helper import times


@stage
def first(seed: int):
    return {"number": times(seed)}

# square
@stage
def square(of: Job, power: int):
    folder = Path(os.environ["FOLDER"])
    (folder / f"reached-{power}").touch()
    while (folder / f"hold-{power}").exists():
        time.sleep(0.02)
    if power == 9:
        raise ValueError("nine is too many")
    return {"value": of["number"] ** power, "pair": [1, power], "words": "none"}
""")
SCRIPT = """\
from typing import Literal

from pydantic import Field

from shortloop import Settings, pipeline


class Powers(Settings):
    seed: int = 2
    power: int = Field(1, le=9)
    way: Literal["a", "b"] = "a"


@pipeline(settings="powers.toml")
def main(run, settings: Powers):
    return run.build("square", of=run.build("first", seed=settings.seed), power=settings.power)
"""


class PowersProject(EmptyProject):
    """Two stages, of which one has a helper beside the packages."""

    sources: ClassVar = {
        **METHODS,
        "helper.py": "def times(number):\n    return 1 * number\n",
        "build_scripts/build_powers.py": SCRIPT,
        "powers.toml": "seed = 2\n",
    }
