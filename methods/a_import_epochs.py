"""Recordings of one participant to checked epochs of each phase."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "Import: recordings of one participant to checked epochs of each phase"
depend_extra = code_of(__file__)
options: dict[str, Any] = {
    "partition": "",
    "settings": {},  # of the format; where the files are is no part of it
    "files": {},  # content of the files of each phase
    "phases": [],  # the training phase first
    "classes": [],
    "seed": 0,  # of simulated recordings
}


def synthesis() -> None:
    from pydantic import TypeAdapter

    from shortloop.eeg.formats.read import read_epochs
    from shortloop.eeg.formats.summary import summarize
    from shortloop.eeg.stages.feature_files import save_epochs
    from shortloop.eeg.study.inputs import InputSettings
    from shortloop.errors import InputError
    from shortloop.jobs.store.inputs import locate
    from shortloop.worker.records import noted, reject, write_record
    from shortloop.worker.threads import check_single_thread

    participant = options["partition"]
    files_of = {"files": options["files"]} if options["files"] else {}
    settings = TypeAdapter(InputSettings).validate_python({**options["settings"], **files_of})
    arrays, phases, recordings, sources = {}, {}, [], {}
    notes: list[str] = []
    try:
        for phase in options["phases"]:
            contents = options["files"].get(phase, [])
            files = [locate(content) for content in contents]
            with noted(f"{participant}, {phase}", notes):
                epochs = read_epochs(
                    settings,
                    files,
                    participant=participant,
                    phase=phase,
                    classes=options["classes"],
                    seed=options["seed"],
                    training=phase == options["phases"][0],
                )
            described, phases[phase] = save_epochs(epochs, phase)
            arrays.update(described)
            names = ", ".join(file.name for file in files)
            summary = summarize(epochs, participant=participant, phase=phase, file=names)
            recordings.append(summary.to_dict())
            sources[phase] = [{"name": f.name, "content": c} for f, c in zip(files, contents, strict=True)]
    except InputError as error:
        reject("import_epochs", participant, error)
        return
    write_record(
        "import_epochs",
        participant,
        arrays,
        facts={"phases": phases, "recordings": recordings, "files": sources, "notes": notes},
        threads=check_single_thread(),
    )
