"""Small recordings of every format, and ways to damage them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from edf_files import signal, write_edf
from eeg_recordings import exported
from scipy.io import savemat

FORMATS = ("mat", "npz", "fif", "edf", "set", "vhdr", "ft", "csv")
NAME = "s"  # of the file and of the struct in it
HEADER, TAG = 128, 8  # bytes of a .mat file and of each of its variables
EXTREME = (0, 1, 2, 4, 8, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**24, 2**30, 2**31 - 1, 2**31, 2**32 - 1)


def seeds(kind: str, folder: Path) -> list[bytes]:
    """Whole recordings of a format."""
    return {
        "mat": _mat_seeds,
        "npz": _npz_seeds,
        "fif": _fif_seeds,
        "edf": _edf_seeds,
        "set": _set_seeds,
        "vhdr": lambda folder: [exported(_recorded(), folder / f"{NAME}.vhdr").read_bytes()],
        "ft": _fieldtrip_seeds,
        "csv": _csv_seeds,
    }[kind](folder)


def mutant(kind: str, whole: list[bytes], rng: np.random.Generator) -> bytes:
    """One of the recordings, damaged; often where its outermost structure, by which most damage would be
    noticed, is whole."""
    content = whole[rng.integers(len(whole))]
    if kind == "npz" and rng.random() < 0.7:
        return _damage_members(content, whole, rng)
    if kind in ("mat", "set", "ft") and content[126:128] in (b"IM", b"MI") and rng.random() < 0.7:
        return _damage_variable(content, whole, rng)
    return _damage(content, whole, rng, in_place=rng.random() < 0.5)


def _damage(content: bytes, whole: list[bytes], rng: np.random.Generator, *, in_place: bool = False) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        if not damaged:
            break
        # Half of the damage is near the start, where the headers are.
        at = int(rng.integers(min(len(damaged), 1024 if rng.random() < 0.5 else len(damaged))))
        length = int(2 ** rng.uniform(0, 9))
        match rng.integers(4 if in_place else 7):
            case 0:
                damaged[at] ^= 1 << int(rng.integers(8))
            case 1:
                at -= at % 4
                value = struct.pack(rng.choice(["<I", ">I"]), int(rng.choice(EXTREME)))
                damaged[at : at + 4] = value[: len(damaged) - at]
            case 2:
                text = rng.choice([b"-1      ", b"99999999", b"0       ", b"1e9     "])
                damaged[at : at + 8] = text[: len(damaged) - at]
            case 3:
                other = whole[rng.integers(len(whole))]
                block = other[int(rng.integers(len(other))) :][:length]
                damaged[at : at + len(block)] = block[: len(damaged) - at]
            case 4:
                del damaged[at:]
            case 5:
                damaged[at:at] = damaged[at : at + length]
            case 6:
                del damaged[at : at + length]
    return bytes(damaged)


def _damage_variable(content: bytes, whole: list[bytes], rng: np.random.Generator) -> bytes:
    """Damage within the first variable of a .mat file, whose tag is put right again."""
    order = "<" if content[126:128] == b"IM" else ">"
    packed = struct.unpack_from(f"{order}I", content, HEADER)[0] == 15
    matrix = zlib.decompress(content[HEADER + TAG :]) if packed else content[HEADER:]
    inner = _damage(matrix[TAG:], whole, rng, in_place=rng.random() < 0.5)
    matrix = struct.pack(f"{order}2I", 14, len(inner)) + inner
    return content[:HEADER] + (_compressed(matrix, order) if packed else matrix)


def _damage_members(content: bytes, whole: list[bytes], rng: np.random.Generator) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        names = old.namelist()
        chosen = names[rng.integers(len(names))]
        for name in names:
            member = old.read(name)
            if name == chosen:
                member = _damage(member, whole, rng)
            new.writestr(name, member, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _mat_seeds(folder: Path) -> list[bytes]:
    file = folder / f"{NAME}.mat"
    y = np.tile([0, 1], 4)
    bins = np.empty(3, dtype=object)
    for number in range(3):
        bins[number] = np.random.default_rng(number).standard_normal((len(y), 5))
    struct_ = {
        "category": y + 1.0,
        "category_name": np.array(["left", "right"], dtype=object)[y],
        "feature_name": np.array([f"E{number}" for number in range(5)], dtype=object),
        "feature": bins,
        "trialinfo": np.c_[y, y].astype(np.int16),
    }

    def saved(content: dict[str, Any], **how: Any) -> bytes:
        savemat(file, content, **how)
        return file.read_bytes()

    plain, packed = saved({NAME: struct_}), saved({NAME: struct_}, do_compression=True)
    level_4 = saved({NAME: np.eye(5), "t": "text"}, format="4")
    big = plain[:124] + b"\x01\x00MI" + _swapped_elements(plain[HEADER:])
    import hdf5storage

    file.unlink()  # it would write into what is there
    hdf5storage.savemat(str(file), {NAME: struct_}, format="7.3", store_python_metadata=False)
    hdf5 = file.read_bytes()
    big_packed = big[:HEADER] + _compressed(big[HEADER:], ">")
    return [plain, packed, level_4, big, big_packed, hdf5]


def _compressed(matrix: bytes, order: str) -> bytes:
    packed = zlib.compress(matrix)
    return struct.pack(f"{order}2I", 15, len(packed)) + packed


def _swapped_elements(content: bytes) -> bytes:
    widths = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 16: 1}
    out, at = b"", 0
    while at < len(content):
        kind, size = struct.unpack_from("<2I", content, at)
        if kind >> 16:  # packed into the tag
            kind, size = kind & 0xFFFF, kind >> 16
            tag, start, step = struct.pack(">I", size << 16 | kind), at + 4, 8
        else:
            tag, start, step = struct.pack(">2I", kind, size), at + 8, 8 + size + -size % 8
        values, rest = content[start : start + size], content[start + size : at + step]
        if kind == 14:
            values = _swapped_elements(values)
        else:
            values = np.frombuffer(values, f"V{widths[kind]}").tobytes()
            values = np.frombuffer(values, f"u{widths[kind]}").byteswap().tobytes()
        out += tag + values + rest
        at += step
    return out


def _npz_seeds(folder: Path) -> list[bytes]:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "X": rng.standard_normal((8, 3, 20)).astype(np.float32),
        "y": np.array(["left", "right"])[np.tile([0, 1], 4)],
        "t": np.arange(20) / 64,
        "ch": np.array(["a", "b", "c"]),
    }
    np.savez(folder / "a.npz", **arrays)
    np.savez_compressed(folder / "b.npz", **arrays)
    return [(folder / name).read_bytes() for name in ("a.npz", "b.npz")]


def _fif_seeds(folder: Path) -> list[bytes]:
    import mne
    import pandas as pd

    info = mne.create_info(["Fz", "Cz", "EOG"], 50.0, ["eeg", "eeg", "eog"])
    events = np.c_[np.arange(6) * 100, np.zeros(6), np.tile([1, 2], 3)].astype(int)
    table = pd.DataFrame({"rt": np.arange(6.0), "w": [*"abcdef"]})
    content = []
    for metadata, fmt in ((None, "single"), (table, "double")):
        epochs = mne.EpochsArray(
            np.random.default_rng(0).standard_normal((6, 3, 30)) * 1e-5,
            info,
            events,
            event_id={"left": 1, "right": 2},
            metadata=metadata,
            verbose="ERROR",
        )
        file = folder / "seed-epo.fif"
        epochs.save(file, fmt=fmt, overwrite=True, verbose="ERROR")
        content.append(file.read_bytes())
    return content


def _edf_seeds(folder: Path) -> list[bytes]:
    events = [(0.0, "cue"), (1.0, "left"), (2.0, "right"), (3.25, "left"), (4.5, "right")]
    return [
        write_edf(folder / "a.edf", signal(seconds=6), annotations=events).read_bytes(),
        write_edf(folder / "a.edf", signal(1, 2, 6), names=("Fc5.", "Cz.."), annotations=events).read_bytes(),
    ]


def _recorded() -> Any:
    """A continuous recording of two channels, with four events."""
    import mne

    data = np.random.default_rng(0).standard_normal((2, 384)) * 1e-5
    raw = mne.io.RawArray(data, mne.create_info(["Fz", "Cz"], 64.0, "eeg"), verbose="ERROR")
    raw.set_annotations(mne.Annotations([1.0, 2.0, 3.25, 4.5], 0.0, ["left", "right"] * 2))
    return raw


def _set_seeds(folder: Path) -> list[bytes]:
    exported(_recorded(), folder / "seed.set")
    content = (folder / "seed.set").read_bytes()
    packed = content[:HEADER]
    at = HEADER
    while at < len(content):  # each variable on its own, as EEGLAB saves them
        end = at + TAG + struct.unpack_from("<I", content, at + 4)[0]
        packed += _compressed(content[at:end], "<")
        at = end
    return [content, packed]


def _fieldtrip_seeds(folder: Path) -> list[bytes]:
    trials, times = np.empty(6, dtype=object), np.empty(6, dtype=object)
    for number in range(6):
        trials[number] = np.random.default_rng(number).standard_normal((2, 30))
        times[number] = np.arange(30) / 64
    data = {
        "label": np.array(["Fz", "Cz"], dtype=object),
        "trial": trials,
        "time": times,
        "fsample": 64.0,
        "trialinfo": np.tile([1.0, 2.0], 3)[:, np.newaxis],
    }
    file = folder / "seed.mat"
    savemat(file, {"data": data})
    content = [file.read_bytes()]
    savemat(file, {"data": data}, do_compression=True)
    return [*content, file.read_bytes()]


def _csv_seeds(folder: Path) -> list[bytes]:
    rows = np.random.default_rng(0).standard_normal((384, 2))
    marker = ["left" if row in (64, 208) else "right" if row in (128, 288) else "" for row in range(384)]
    lines = [f"{row / 64},{rows[row, 0]:.4f},{rows[row, 1]:.4f},{marker[row]}" for row in range(384)]
    return ["\n".join(["timestamps,Fz,Cz,marker", *lines, ""]).encode()]
