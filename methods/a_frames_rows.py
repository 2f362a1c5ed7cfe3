"""The table of a comparison of data frames as an exax dataset, sliced by the hash of the key."""

from typing import Any

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options: Any = {}
jobs: Any = ("table",)


def prepare(job: Any) -> Any:
    from shortloop.frames.transformations import KEY, ROW
    from shortloop.stages.results import open_result

    rows = job.datasetwriter(hashlabel=KEY)
    rows.add(KEY, "int64")
    rows.add(ROW, "int64")
    for name in open_result(jobs.table.path).facts["columns"]:
        rows.add(name, "float64")
    return rows


def analysis(sliceno: int, prepare_res: Any) -> None:
    from shortloop.frames.table import parts_of
    from shortloop.frames.transformations import Work
    from shortloop.stages.results import open_result

    rows, row = prepare_res, 0
    rows.enable_hash_discard()
    for keys, columns in parts_of(Work.on(open_result(jobs.table.path))):
        numbers = range(row, row + len(keys))
        for each in zip(keys.tolist(), numbers, *(column.tolist() for column in columns)):
            rows.write(*each)
        row += len(keys)
