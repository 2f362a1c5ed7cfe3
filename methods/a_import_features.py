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
    import os
    from concurrent.futures import ThreadPoolExecutor

    from shortloop.errors import InputError
    from shortloop.jobs.inputs import locate
    from shortloop.jobs.records import Outside, reject, write_record
    from shortloop.jobs.stage_files import feature_arrays
    from shortloop.jobs.threads import check_single_thread

    participant = options["participant"]
    arrays: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    found = {}
    try:
        # One or two files, mapped or decompressed, which other threads need not wait for: no work for slices.
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for phase, each in zip(options["files"], pool.map(_read, options["files"]), strict=True):
                facts, _, source, span = found[phase] = each
                outside = None if span is None else Outside(**source, span=span)
                arrays.update(feature_arrays(phase, facts["unit"], facts["time_unit"], outside))
                locate(source["content"])  # nobody changed it meanwhile
    except InputError as error:
        reject("import_features", participant, error)
        return
    write_record(
        "import_features",
        participant,
        arrays,
        facts={
            **facts,
            "recordings": [found[phase][1] for phase in options["files"]],
            "files": {phase: [found[phase][2]] for phase in options["files"]},
        },
        threads=check_single_thread(),
    )


def _read(phase: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, str], Any]:
    """Facts of one file's features, a summary, where they come from, and where they lie in it."""
    from functools import partial

    from shortloop.formats.read import read_features
    from shortloop.formats.summary import summarize
    from shortloop.jobs.inputs import locate
    from shortloop.jobs.records import create_array, save_array
    from shortloop.jobs.stage_files import feature_facts
    from shortloop.study.inputs import ThesisInput

    participant, content = options["participant"], options["files"][phase]
    file = locate(content)
    features = read_features(
        ThesisInput(format="thesis"),
        file,
        kind=options["kind"],
        participant=participant,
        phase=phase,
        classes=options["classes"],
        allocate=partial(create_array, f"data_{phase}", dtype="f8"),
    )
    save_array(f"labels_{phase}", features.labels)
    save_array(f"times_{phase}", features.times)
    summary = summarize(features, participant=participant, phase=phase, file=file.name)
    return feature_facts(features), summary.to_dict(), {"name": file.name, "content": content}, features.span
