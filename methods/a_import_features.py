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


def prepare() -> Any:
    from shortloop.engines.units import Units

    return Units(len(options["files"]))


def analysis(sliceno: int, prepare_res: Any) -> Any:
    from functools import partial

    from shortloop.errors import InputError
    from shortloop.formats.read import read_features
    from shortloop.formats.summary import summarize
    from shortloop.jobs.inputs import locate
    from shortloop.jobs.records import create_array, save_array
    from shortloop.jobs.stage_files import feature_facts
    from shortloop.jobs.threads import check_single_thread
    from shortloop.study.inputs import ThesisInput

    participant, kind = options["participant"], options["kind"]
    found = {}
    for unit in prepare_res:
        phase, content = list(options["files"].items())[unit]
        try:
            file = locate(content)
            features = read_features(
                ThesisInput(format="thesis"),
                file,
                kind=kind,
                participant=participant,
                phase=phase,
                classes=options["classes"],
                allocate=partial(create_array, f"data_{phase}", dtype="f8"),
            )
        except InputError as error:
            return error.message, {}, []
        save_array(f"labels_{phase}", features.labels)
        save_array(f"times_{phase}", features.times)
        summary = summarize(features, participant=participant, phase=phase, file=file.name)
        source = {"name": file.name, "content": content}
        found[phase] = (feature_facts(features), summary.to_dict(), source, features.span)
    return None, found, check_single_thread()


def synthesis(analysis_res: Any) -> None:
    from shortloop.errors import InputError
    from shortloop.jobs.inputs import locate
    from shortloop.jobs.records import Outside, reject, write_record
    from shortloop.jobs.stage_files import feature_arrays

    slices = list(analysis_res)
    participant = options["participant"]
    problems = [problem for problem, _, _ in slices if problem]
    if problems:
        reject("import_features", participant, InputError(problems[0]))
        return
    found = {phase: each for _, phases, _ in slices for phase, each in phases.items()}
    arrays, facts = {}, {}
    for phase in options["files"]:
        facts, _, source, span = found[phase]
        outside = None if span is None else Outside(**source, span=span)
        arrays.update(feature_arrays(phase, facts["unit"], facts["time_unit"], outside))
        locate(source["content"])  # nobody changed it meanwhile
    write_record(
        "import_features",
        participant,
        arrays,
        facts={
            **facts,
            "recordings": [found[phase][1] for phase in options["files"]],
            "files": {phase: [found[phase][2]] for phase in options["files"]},
        },
        threads=slices[0][2],
    )
