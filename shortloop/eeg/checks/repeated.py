"""One recording under two names: counted twice, or trained on and decoded, it makes effects out of noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shortloop.base.errors import InputError
from shortloop.eeg.checks.consistency import Refuse, first_ends
from shortloop.stages.inputs import File

__all__ = ["refuse_repeated"]


def refuse_repeated(
    files: Mapping[str, Mapping[str, Sequence[File]]],
    field: str,
    refuse: Refuse = first_ends,
    of_all: bool = False,
) -> None:
    """Refuse files whose content another one has, too.

    One and the same file may hold several phases of a participant.
    """
    known: dict[str, tuple[str, str, File]] = {}
    for participant, phases in files.items():
        for phase, found in phases.items():
            for file in found:
                if not file.content:  # a plan reads no files
                    continue
                who, when, first = known.setdefault(file.content, (participant, phase, file))
                if file.path == first.path and (of_all or who == participant):
                    continue
                refuse(
                    InputError(
                        "a recording is there twice",
                        participant=participant,
                        file=file.path,
                        field=f"{field}.{phase}",
                        found=f"every byte as in {first.path}, {who}, {when}",
                        expected="a recording of its own",
                        hint="put the right file there, or leave one of them out: a recording that counts "
                        "twice makes effects out of noise",
                    )
                )
