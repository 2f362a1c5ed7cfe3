"""The environment in which a command reads a build script."""

from __future__ import annotations

import os
from pathlib import Path

from shortloop.plan.selection import Selection


def prepared(script: str | None, settings: Path | None, selection: Selection) -> str:
    """The build script, after setting the environment that it reads."""
    from shortloop.keys.methods import chosen_script
    from shortloop.settings.paths import SETTINGS_VARIABLE

    if settings is not None:
        os.environ[SETTINGS_VARIABLE] = str(settings.absolute())
    selection.into(os.environ)
    return script or chosen_script(None)
