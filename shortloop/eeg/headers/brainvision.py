"""BrainVision headers: files and number of samples. MNE would read truncated files without an error."""

from __future__ import annotations

import re
from pathlib import Path

from shortloop.base.errors import InputError

POINTERS = ("DataFile", "MarkerFile")
SAMPLE_BYTES = {"INT_16": 2, "UINT_16": 2, "INT_32": 4, "IEEE_FLOAT_32": 4, "IEEE_FLOAT_64": 8}
FIELD = re.compile(r"^[ \t]*(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)
MARKER = re.compile(r"^Mk\d+=[^,]*,[^,]*,\s*(\d+)", re.MULTILINE)


def check_size(file: Path) -> None:
    """Check the samples against header and markers."""
    said = _fields(file)
    pointed = pointed_to(file)
    away = [said[each] for each in pointed if len(Path(said[each]).parts) > 1]
    if away:  # MNE would read it there, and no job key would cover it
        hint = "put them there, and name them in the header without a folder"
        raise InputError("the header names a file in another folder", found=", ".join(away), hint=hint)
    for path in [path for path in pointed.values() if not path.is_file()]:
        own = file.with_suffix(path.suffix)
        problem, found = "a file of the recording is missing", f"no {path.name} beside it"
        hint = "put it there; if it was renamed, give it the old name, or correct the header"
        if own.is_file():
            found += f", but {own.name}"
            hint = f"write {own.name} in place of {path.name} in the header, or give all files their old name"
        raise InputError(problem, found=found, hint=hint)
    width = SAMPLE_BYTES.get(said.get("BinaryFormat", ""), 0) * int(said.get("NumberOfChannels", 0))
    if "DataFile" in pointed and said.get("DataFormat") == "BINARY" and width:
        size = pointed["DataFile"].stat().st_size
        markers = _text(pointed["MarkerFile"]) if "MarkerFile" in pointed else ""
        last = max((int(at) for at in MARKER.findall(markers)), default=0)
        samples = int(said.get("DataPoints") or 0)
        if size % width or size // width < max(samples, last, 1):
            found = f"{pointed['DataFile'].name} with {size / width:.10g} samples"
            expected = f"{samples}" if samples else f"whole ones, and one for the last marker, at {last}"
            hint = "copy the files again from their source"
            raise InputError("the samples are truncated", found=found, expected=expected, hint=hint)


def pointed_to(file: Path) -> dict[str, Path]:
    """Return the files a header names, existing or not."""
    said = _fields(file)
    names = {each: said[each].replace("$b", file.stem) for each in POINTERS if said.get(each)}
    # A damaged header may name a folder, such as "/".
    found = {each: file.with_name(Path(name).name) for each, name in names.items() if Path(name).name}
    renamed = file.with_suffix(".vmrk")  # MNE falls back to it if the marker file has another name
    if "MarkerFile" in found and not found["MarkerFile"].is_file() and renamed.is_file():
        found["MarkerFile"] = renamed
    return found


def units_of(file: Path) -> list[str]:
    """Return the units of the channels, as written."""
    said = _fields(file)
    fields = [said.get(f"Ch{n}", "").split(",") for n in range(1, int(said["NumberOfChannels"]) + 1)]
    return [each[3].strip() if len(each) > 3 and each[3].strip() else "µV" for each in fields]


def _text(file: Path) -> str:
    content = file.read_bytes()
    return content.decode("utf-8" if b"UTF-8" in content[:2000] else "latin-1", "replace")


def _fields(file: Path) -> dict[str, str]:
    """Parse the header; the first of several fields with one name counts."""
    return dict(reversed(FIELD.findall(_text(file).replace("\r", ""))))
