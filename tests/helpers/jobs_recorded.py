"""Recorded jobs of a toy method, without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from jobs_project import make_job

from shortloop.keys.key import Parts
from shortloop.stages.records import FORMAT
from shortloop.stages.results import Result
from shortloop.store.integrity import content_of_job, hash_outputs, output_files
from shortloop.store.manifest import Manifest, write_manifest


def parts_with(**changes: Any) -> Parts:
    """What the key of a toy job is made of."""
    usual: dict[str, Any] = {
        "method": "methods.toy",
        "code": {"methods.a_toy": "c1", "shortloop.a": "c2"},
        "versions": {"python": "3.11.7", "accelerator": "2.1.0"},
        "options": {"number": 1, "settings": {"C": [0.1, 1]}},
        "inputs": {"previous": "i1", "all": ["i2", "i3"]},
    }
    return Parts(**{**usual, **changes})


def finished_job(project: Path, job: str, left: bytes = b"a result", **record: Any) -> Path:
    """A job that exax finished, and nobody recorded."""
    folder = make_job(project, job, method="toy")
    post = {"starttime": 1_700_000_000.0, "exectime": {"total": 1.5}}
    (folder / "post.json").write_text(json.dumps(post), encoding="utf-8")
    (folder / "x.npy").write_bytes(left)
    plain = {"format": FORMAT, "stage": "toy", "facts": {}, "arrays": {}}
    plain |= {"versions": {"python": "3.11.7"}, "threads": [1]}
    (folder / "record.json").write_text(json.dumps({**plain, **record}), encoding="utf-8")
    return folder


def result_with(folder: Path, facts: dict[str, Any] | None = None, **arrays: Any) -> Result:
    """A job as `open_result` gives it, with these arrays."""
    folder.mkdir(exist_ok=True)
    described = {}
    for name, values in arrays.items():
        values = np.asarray(values)
        np.save(folder / f"{name}.npy", values)
        described[name] = {"shape": list(values.shape), "dtype": str(values.dtype), "unit": "s"}
    record: Any = {"stage": "any", "partition": None, "arrays": described, "facts": facts or {}}
    return Result(folder.name, folder, record)


def manifest_for(folder: Path, parts: Parts | None = None, base: str = "") -> Manifest:
    """The manifest of a finished job."""
    parts = parts or parts_with()
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    package, _, method = parts.method.rpartition(".")
    asked = {"package": package, "method": method, "options": parts.options}
    (folder / "setup.json").write_text(json.dumps({**setup, **asked}), encoding="utf-8")
    files = hash_outputs(folder, output_files(folder))
    content, rejected = content_of_job(folder, files)
    return Manifest(
        folder.name, parts.key(), parts, content, files, base, rejected=rejected, cost={"seconds": 1.5}
    )


def recorded_job(
    project: Path, job: str, parts: Parts | None = None, *, left: bytes = b"a result", base: str = ""
) -> Manifest:
    """A finished job with its manifest."""
    folder = finished_job(project, job, left)
    manifest = manifest_for(folder, parts, base)
    write_manifest(folder, manifest)
    return manifest
