"""From a folder of recordings to a study file: what `shortloop init --data` asks this analysis for."""

from __future__ import annotations

import tomllib
from pathlib import Path

from shortloop.cli.analyses import Look
from shortloop.eeg.formats.recognised import recognised
from shortloop.eeg.looking.at_once import Tell
from shortloop.eeg.looking.draft import draft, questions
from shortloop.eeg.looking.folder import FEATURES, look_through
from shortloop.eeg.looking.looked import look_into
from shortloop.eeg.looking.shown import left_out, shown
from shortloop.errors import InputError

__all__ = ["look"]


def look(folder: Path, project: Path, tell: Tell) -> Look | None:
    """Look at the recordings in a folder.

    Parameters
    ----------
    folder : Path
        The folder.
    project : Path
        Folder that the study file will be in; it gives the study its name.
    tell : callable
        Is told how far it is.

    Returns
    -------
    Look or None
        None if there are no recordings, and nothing that could be one.

    Raises
    ------
    InputError
        If no recording can be read.
    """
    if folder.is_file():
        if not recognised(folder):
            return None
        raise InputError(
            "recordings are looked for in a folder", file=folder, hint=f"name the folder: {folder.parent}"
        )
    found = look_through(folder, tell)
    if not found.recordings:
        if found.problems or found.named:
            raise InputError(
                "there is no recording that can be read",
                file=folder,
                found="\n".join(left_out(found)),
                hint="mend these, or name another folder",
            )
        return None
    looked = look_into(found, tell)
    if not (looked.recorded if looked.format in FEATURES else looked.all_recorded()):
        silent = bool(looked.recorded)
        raise InputError(
            "no recording has events" if silent else "there is no recording that can be read",
            file=folder,
            found="\n".join(shown(looked)),
            expected="annotations, a channel of codes, or a table of events beside each" if silent else None,
            hint="write NAME_events.tsv with the columns onset (s) and trial_type beside each recording"
            if silent
            else "mend these, or name another folder",
        )
    if not set(looked.recorded) - set(looked.out):
        raise InputError(
            "no participant has all that a study needs",
            file=folder,
            found="\n".join(shown(looked)),
            hint="add what they lack, or look at a part of the folder alone",
        )
    text = draft(looked, project.name, project)
    tomllib.loads(text)
    return Look(tuple(shown(looked)), text, tuple(questions(looked, text)))
