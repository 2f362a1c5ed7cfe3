"""Features of one participant that were computed elsewhere, checked."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.code import code_of

description = "Import: ready-made features of one participant, checked"
depend_extra = code_of(__file__)
options: dict[str, Any] = {
    "participant": "",
    "kind": "",  # amplitude or power
    "files": {},  # content of the file of each phase
    "classes": [],
}


def synthesis() -> None:
    from shortloop.errors import InputError
    from shortloop.formats.read import read_features
    from shortloop.formats.summary import summarize
    from shortloop.jobs.inputs import locate
    from shortloop.jobs.records import reject, save_array, write_record
    from shortloop.jobs.stage_files import feature_arrays, feature_facts
    from shortloop.jobs.threads import check_single_thread
    from shortloop.study.inputs import ThesisInput

    participant, kind = options["participant"], options["kind"]
    arrays, facts, recordings, sources = {}, {}, [], {}
    try:
        for phase, content in options["files"].items():
            file = locate(content)
            features = read_features(
                ThesisInput(format="thesis"),
                file,
                kind=kind,
                participant=participant,
                phase=phase,
                classes=options["classes"],
            )
            save_array(f"data_{phase}", features.data)
            save_array(f"labels_{phase}", features.labels)
            save_array(f"times_{phase}", features.times)
            arrays.update(feature_arrays(phase, features.unit, features.time_unit))
            facts = feature_facts(features)
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
