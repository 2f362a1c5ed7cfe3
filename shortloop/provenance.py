"""A job with its provenance as a Workflow Run RO-Crate, to be archived or sent to others."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from shortloop import __version__
from shortloop.base.errors import InputError
from shortloop.base.extras import need
from shortloop.plan.explain.reasons import option_rows
from shortloop.project.project import job_directory, project_directory
from shortloop.stages.records import OF_FRAME, RECORD
from shortloop.stages.results import Setup, sources_of
from shortloop.store.inputs import locate
from shortloop.store.manifest import MANIFEST, Manifest, read_manifest
from shortloop.store.setup import setup_of

_Entity = Any  # of rocrate, which has no types

PROFILES = {  # Leo et al. 2024, Recording provenance of workflow runs with RO-Crate, PLOS ONE 19
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TERMS = "https://w3id.org/ro/terms/workflow-run/context"
PYTHON = "https://w3id.org/workflowhub/workflow-ro-crate#python"
FILE_OPTION = re.compile(r"([0-9a-f]{64}) (.+)", re.DOTALL)  # content and name of an input file
# No results; the first two hold paths of this machine, and are left out.
NOTES = ("setup.json", "post.json", MANIFEST, "method.tar.gz", RECORD)
EXTRA_CODE, IMPORTS = "workdirs/.cache/code", "imports"  # modules that a method imports, as one text
RESULTS, CODE, INPUTS, ABOUT = "results", "code", "inputs", "job"  # folders of the crate


def write_crate(job: str, place: Path, with_inputs: bool) -> Path:
    """Write a job and its provenance as a folder, or as a ZIP file by the ending of its name."""
    need("provenance", ["rocrate"])
    if place.exists() and not (place.is_dir() and place.suffix != ".zip" and not any(place.iterdir())):
        hint = "name a folder that does not exist yet, or a new file that ends in .zip"
        raise InputError("a crate does not replace anything", file=place, hint=hint)
    with tempfile.TemporaryDirectory(prefix="shortloop-crate-") as folder:
        crate = _Crate(job, Path(folder), with_inputs).crate
        try:
            crate.write_zip(place) if place.suffix == ".zip" else crate.write(place)
        except OSError as error:
            raise InputError("the crate cannot be written", file=place, found=error.strerror) from None
    return place


class _Crate:
    """A crate of one job and all that it was made from."""

    def __init__(self, job: str, scratch: Path, with_inputs: bool) -> None:
        from rocrate.rocrate import ROCrate

        self.job, self.scratch, self.with_inputs = job, scratch, with_inputs
        self.crate: Any = ROCrate(version="1.1")
        self.crate.metadata.extra_contexts.append(TERMS)
        self.setups = _setups(job)
        self.manifests: dict[str, Manifest | None] = {
            each: read_manifest(job_directory(each)) for each in self.setups
        }
        self.code: dict[str, _Entity] = {}  # by name in the crate
        self.inputs: dict[str, _Entity] = {}  # by content
        self._describe()

    def _describe(self) -> None:
        own, root = self.setups[self.job], self.crate.root_dataset
        name = f"{own['method']} of {project_directory().name} ({self.job})"
        root["name"] = name
        root["description"] = f"{self.job} with its code, options, versions, inputs by hash, and results"
        root["datePublished"] = _moment(own["endtime"])
        said = "not stated: name one before this is published"
        root["license"] = self._entity("#license", "CreativeWork", name=said, description=said)
        profiles = [
            self._entity(url, "CreativeWork", name=name, version=url.rsplit("/")[-1])
            for url, name in PROFILES.items()
        ][: None if own.get("parent") else 1]
        root["conformsTo"] = profiles
        self.crate.metadata["conformsTo"] = [{"@id": "https://w3id.org/ro/crate/1.1"}, *profiles[3:]]
        actions = {job: self._action(job) for job in self.setups}
        root["mentions"] = [*actions.values()]
        if own.get("parent"):  # else it was not built by a build script, as in a notebook
            root["mainEntity"] = script = self._script(own["parent"])
            tools = (each["instrument"] for each in actions.values())
            script["hasPart"] = [*{each.id: each for each in tools}.values()]
            root["mentions"] = [self._run(script, actions), *actions.values()]

    def _run(self, script: _Entity, actions: Mapping[str, _Entity]) -> _Entity:
        """The run of a build script, a step for each job."""
        script["step"] = steps = [self._step(number, job) for number, job in enumerate(self.setups)]
        controls = [
            self._entity(f"#control-{job}", "ControlAction", name=job, instrument=step, object=actions[job])
            for job, step in zip(self.setups, steps, strict=True)
        ]
        run = self._entity(
            "#run",
            "CreateAction",
            name=f"the run that built {self.job}",
            description=f"{len(self.setups)} jobs, in the order in which they began",
            instrument=script,
            startTime=_moment(min(each["starttime"] for each in self.setups.values())),
            endTime=_moment(self.setups[self.job]["endtime"]),
            object=[*self.inputs.values()],
            result=actions[self.job]["result"],
        )
        place = f"https://pypi.org/project/shortloop/{__version__}/"
        facts = {"name": "Shortloop", "softwareVersion": __version__, "url": place}
        engine = self._entity(place, "SoftwareApplication", **facts)
        self._entity(
            "#organize", "OrganizeAction", name="Shortloop", instrument=engine, object=controls, result=run
        )
        return run

    def _action(self, job: str) -> _Entity:
        """Describe a job: its code, inputs and results, by hash."""
        setup, manifest = self.setups[job], self.manifests[job]
        read: list[_Entity] = []
        for name, value in option_rows({**setup["options"]}):
            if name in OF_FRAME or value is None:
                continue
            texts = value if isinstance(value, list) else [value]
            files = [FILE_OPTION.fullmatch(each) if isinstance(each, str) else None for each in texts]
            read += [self._input(each[0], *each.groups()) for each in files if each]
            if not all(files) or not files:
                text = json.dumps(value, default=str)
                read.append(self._entity(f"#{job}-{name}", "PropertyValue", name=name, value=text))
        read += [self._entity(f"#results-{each}", "Dataset") for each in dict.fromkeys(_above(setup))]
        versions = manifest.parts.versions if manifest else {}
        action = self._entity(
            f"#{job}",
            "CreateAction",
            name=" of ".join(filter(None, (job, setup["method"]))),
            startTime=_moment(setup["starttime"]),
            endTime=_moment(setup["endtime"]),
            actionStatus="http://schema.org/CompletedActionStatus",
            instrument=self._tool(job),
            object=read,
            result=self._results(job),
            description=(manifest and f"built because: {manifest.reason}") or "",
            identifier=f"key {manifest.key}" if manifest else job,
        )
        action["instrument"]["softwareRequirements"] = [*self._libraries(versions)]
        return action

    def _results(self, job: str) -> list[_Entity]:
        """Files of the exported job; of others, their hash."""
        manifest, folder = self.manifests[job], job_directory(job)
        hashes = {name: digest for name, (_, digest) in manifest.files.items()} if manifest else {}
        if job != self.job:
            content = manifest.content if manifest else "unknown"
            parts = "; ".join(f"{name}: BLAKE3 {each}" for name, each in hashes.items() if name not in NOTES)
            facts = {"name": f"results of {job}, not in this crate", "identifier": f"content {content}"}
            return [self._entity(f"#results-{job}", "Dataset", description=parts or "no files", **facts)]
        found = [
            self._file(folder / name, f"{RESULTS}/{name}", hashes[name], name)
            for name in sorted(hashes)
            if name not in NOTES and not name.startswith(".") and (folder / name).is_file()
        ]
        for name in (RECORD, MANIFEST):
            if (folder / name).is_file():
                self._file(folder / name, f"{ABOUT}/{name}", "", name)
        return found

    def _input(self, option: str, content: str, name: str) -> _Entity:
        """An input file: by its hash, and whole if that is asked for."""
        if content not in self.inputs:
            if self.with_inputs:
                entity = self._file(
                    locate(option), f"{INPUTS}/{content[:12]}/{Path(name).name}", content, name
                )
            else:
                facts = {"name": name, "identifier": f"BLAKE3 {content}"}
                entity = self._entity(f"#input-{content[:16]}", "CreativeWork", **facts)
            self.inputs[content] = entity
        return self.inputs[content]

    def _tool(self, job: str) -> _Entity:
        """The source of a method, as the job ran it, with the code that it imports beside it."""
        return self._source(job, f"a_{self.setups[job]['method']}.py", ())

    def _script(self, job: str) -> _Entity:
        method = setup_of(job_directory(job))["method"]
        return self._source(job, f"{method.rpartition('.')[2]}.py", ("ComputationalWorkflow", "HowTo"))

    def _source(self, job: str, main: str, more: tuple[str, ...]) -> _Entity:
        """Unpack the code of a job; code that is the same as another job's is there once."""
        found: _Entity | None = None
        for name, data in _archived(job_directory(job) / "method.tar.gz"):
            name = name.replace(EXTRA_CODE, IMPORTS)
            place = f"{CODE}/{name}"
            if (file := self.scratch / place).exists() and file.read_bytes() != data:
                place = f"{CODE}/{job}/{name}"
            is_main = PurePosixPath(name).name == main
            if place not in self.code:
                file = self.scratch / place
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
                kinds = ["File", *(["SoftwareSourceCode"] if name.endswith(".py") else [])]
                entity = self._file(file, place, "", name, [*kinds, *(more if is_main else ())])
                entity["programmingLanguage"] = self._python
                entity["version"] = f"SHA-256 {hashlib.sha256(data).hexdigest()}"
                self.code[place] = entity
            if is_main:
                found = self.code[place]
        if found is None:
            hint = "its archive of code is not whole: `shortloop verify` says more"
            raise InputError("the code of a job is missing", file=job_directory(job), found=main, hint=hint)
        return found

    def _step(self, number: int, job: str) -> _Entity:
        return self._entity(
            f"#step-{job}", "HowToStep", position=str(number), name=job, workExample=self._tool(job)
        )

    def _libraries(self, versions: Mapping[str, str]) -> Iterator[_Entity]:
        for name, version in versions.items():
            if version and (known := version.partition(" of ")[0]):
                facts = {"name": name, "softwareVersion": known}
                yield self._entity(f"#{name}-{known}", "SoftwareApplication", **facts)

    @cached_property
    def _python(self) -> _Entity:
        return self._entity(PYTHON, "ComputerLanguage", name="Python", url="https://www.python.org")

    def _file(self, source: Path, place: str, digest: str, name: str, kinds: object = "File") -> _Entity:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        facts: dict[str, Any] = {
            "@type": kinds,
            "name": PurePosixPath(name).name,
            "contentSize": str(source.stat().st_size),
            "encodingFormat": kind,
        }
        if digest:
            facts["identifier"] = f"BLAKE3 {digest}"
        return self.crate.add_file(source, place, properties=facts)

    def _entity(self, identity: str, kind: str, **facts: object) -> _Entity:
        from rocrate.model.contextentity import ContextEntity

        known = self.crate.get(identity)
        if known is None:
            known = self.crate.add(ContextEntity(self.crate, identity, properties={"@type": kind}))
        for field, value in facts.items():
            known[field] = value[0] if isinstance(value, list) and len(value) == 1 else value
        return known


def _setups(job: str) -> dict[str, Setup]:
    """exax's records of a job and of all jobs that it was made from, these first."""
    found: dict[str, Setup] = {}
    waiting = [job]
    while waiting:
        if (each := waiting.pop()) in found:
            continue
        setup = setup_of(job_directory(each))
        if "endtime" not in setup:
            hint = "export a finished job; `shortloop jobs` lists them"
            raise InputError("a job without a whole record", found=each, hint=hint)
        found[each] = setup
        waiting += _above(setup)
    return dict(sorted(found.items(), key=lambda item: item[1]["starttime"]))


def _above(setup: Setup) -> list[str]:
    return [job for _, job in sources_of(setup)]


def _archived(file: Path) -> Iterator[tuple[str, bytes]]:
    """Files of an archive of exax, none outside of the folder that it is unpacked into."""
    try:
        with tarfile.open(file) as archive:
            for each in archive:
                name = PurePosixPath(each.name)
                if each.isfile() and not name.is_absolute() and ".." not in name.parts:
                    stream = archive.extractfile(each)
                    yield str(name), stream.read() if stream else b""
    except (OSError, tarfile.TarError) as error:
        hint = "`shortloop verify` looks for damage"
        raise InputError("the code of a job cannot be read", file=file, found=error, hint=hint) from None


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
