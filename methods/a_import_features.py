"""Features of one participant that were computed elsewhere, checked."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "Import: ready-made features of one participant, checked"
depend_extra = code_of(__file__)
options: dict[str, Any] = {
    "partition": "",
    "kind": "",  # amplitude or power
    "files": {},  # content of the file of each phase
    "classes": [],
}


def synthesis() -> None:
    from contextlib import ExitStack

    from shortloop.eeg.formats.summary import summarize
    from shortloop.eeg.stages.feature_files import feature_arrays, feature_facts
    from shortloop.errors import InputError
    from shortloop.jobs.store.inputs import locate
    from shortloop.worker.records import Outside, reject, save_array, write_record
    from shortloop.worker.threads import check_single_thread

    participant = options["partition"]
    arrays: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    recordings, sources = [], {}
    try:
        with ExitStack() as until_read:
            # Two files are read at the same time.
            begun = {phase: until_read.enter_context(_begun(phase)) for phase in options["files"]}
            for phase, wait in begun.items():
                content = options["files"][phase]
                features, file = wait(), locate(content)  # nobody changed it meanwhile
                facts = feature_facts(features)
                outside = None if features.span is None else Outside(file.name, content, features.span)
                arrays.update(feature_arrays(phase, features.unit, features.time_unit, outside))
                save_array(f"labels_{phase}", features.labels)
                save_array(f"times_{phase}", features.times)
                summary = summarize(features, participant=participant, phase=phase, file=file.name)
                recordings.append(summary.to_dict())
                sources[phase] = [{"name": file.name, "content": content}]
    except InputError as error:
        reject("import_features", participant, error)
        return
    write_record(
        "import_features",
        participant,
        arrays,
        facts={**facts, "recordings": recordings, "files": sources},
        threads=check_single_thread(),
    )


def _begun(phase: str) -> Any:
    """The features of one phase, which are read from now on, into the folder of this job if they must be."""
    from functools import partial

    from shortloop.eeg.formats.read import features_begun
    from shortloop.eeg.study.inputs import ThesisInput
    from shortloop.jobs.store.inputs import locate
    from shortloop.worker.records import create_array

    return features_begun(
        ThesisInput(format="thesis"),
        locate(options["files"][phase]),
        kind=options["kind"],
        participant=options["partition"],
        phase=phase,
        classes=options["classes"],
        allocate=partial(create_array, f"data_{phase}", dtype="f8"),
    )
