"""Files of formats that MNE reads and does not write: EGI's by the library of its makers, the others byte by
byte as they are documented, small, and judged by MNE's readers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import mne
import numpy as np

UNIT = 0.05  # µV of a step of whole numbers
BEGUN = datetime(2020, 1, 1, 12, tzinfo=UTC)
CODES = {"face": 1, "house": 2, "response": 9}


def _steps(raw: mne.io.BaseRaw, unit: float = UNIT) -> np.ndarray:
    return np.round(raw.get_data() * 1e6 / unit).astype("<i2")


def _samples(raw: mne.io.BaseRaw) -> list[tuple[int, str]]:
    """Sample and name of each event that has a code."""
    return [
        (round(each["onset"] * raw.info["sfreq"]), each["description"])
        for each in raw.annotations
        if each["description"] in CODES
    ]


def _whole(raw: mne.io.BaseRaw) -> mne.io.BaseRaw:
    """Without the last part of a second: some formats count in tenths of it, or in milliseconds."""
    seconds = raw.n_times // int(raw.info["sfreq"])
    return raw.copy().crop(0, seconds, include_tmax=False)


def _text(value: object, size: int) -> bytes:
    return str(value).encode().ljust(size)[:size]


def write_mff(raw: mne.io.BaseRaw, folder: Path) -> None:
    """EGI, by mffpy: the first channels of a net of 33, which has positions."""
    from mffpy.writer import BinWriter, Writer

    raw = _whole(raw)
    signals = np.zeros((33, raw.n_times), "f4")
    signals[: len(raw.ch_names)] = raw.get_data() * 1e6
    signals[len(raw.ch_names) : -1] = np.random.default_rng(3).standard_normal(
        (32 - len(raw.ch_names), raw.n_times)
    )
    samples = BinWriter(sampling_rate=int(raw.info["sfreq"]), data_type="EEG")
    samples.add_block(signals)
    track = [
        {
            "beginTime": BEGUN + timedelta(seconds=at / raw.info["sfreq"]),
            "duration": 1000,
            "code": name,
            "label": name,
        }
        for at, name in _samples(raw)
    ]
    folder.parent.mkdir(parents=True, exist_ok=True)
    writer = Writer(str(folder))
    writer.addxml("fileInfo", recordTime=BEGUN)
    writer.addxml("eventTrack", filename="Events_ECI.xml", name="ECI", trackType="EVNT", events=track)
    writer.add_coordinates_and_sensor_layout("HydroCel GSN 32 1.0")
    writer.addbin(samples)
    writer.write()


def write_gdf(raw: mne.io.BaseRaw, file: Path) -> None:
    """GDF 1.25 (Schlögl 1998, GDF - a general dataformat for biosignals), a record for each sample."""
    count, rate = len(raw.ch_names), int(raw.info["sfreq"])
    steps = _steps(raw)
    head = [
        b"GDF 1.25" + _text("P X", 80) + _text("", 80) + _text(f"{BEGUN:%Y%m%d%H%M%S}00", 16),
        struct.pack("<q", 256 * (count + 1)) + bytes(24 + 20),
        struct.pack("<qIII", raw.n_times, 1, rate, count),
        b"".join(_text(name, 16) for name in raw.ch_names) + bytes(80 * count) + _text("uV", 8) * count,
        *(struct.pack(f"<{count}d", *[each] * count) for each in (-UNIT * 32768, UNIT * 32767)),
        *(struct.pack(f"<{count}q", *[each] * count) for each in (-32768, 32767)),
        bytes(80 * count) + struct.pack(f"<{2 * count}i", *[1] * count, *[3] * count) + bytes(32 * count),
    ]
    events = _samples(raw)
    table = struct.pack("<B", 1) + rate.to_bytes(3, "little") + struct.pack("<I", len(events))
    table += struct.pack(f"<{len(events)}I", *(at + 1 for at, _ in events))
    table += struct.pack(f"<{len(events)}H", *(CODES[name] for _, name in events))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(head) + steps.T.tobytes() + table)


def write_cnt(raw: mne.io.BaseRaw, file: Path) -> None:
    """Neuroscan, 16 bits (paulbourke.net/dataformats/eeg), without positions."""
    count = len(raw.ch_names)
    head = bytearray(900)
    head[:12] = b"Version 3.0\0"
    head[225:245] = b"01/01/20\0\x0012:00:00\0\0"
    struct.pack_into("<H", head, 370, count)
    struct.pack_into("<H", head, 376, int(raw.info["sfreq"]))
    struct.pack_into("<i", head, 864, raw.n_times)
    start = 900 + 75 * count
    struct.pack_into("<i", head, 886, start + 2 * count * raw.n_times)
    for name in raw.ch_names:
        channel = bytearray(75)
        channel[: len(name)] = name.encode()
        struct.pack_into("<f", channel, 59, 204.8 * UNIT)
        struct.pack_into("<f", channel, 71, 1.0)
        head += channel
    events = b"".join(
        struct.pack("<HBcl", CODES[name], 0, b"\0", start + 2 * count * (at + 1))
        for at, name in _samples(raw)
    )
    table = struct.pack("<Bll", 1, len(events), 0) + events
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(head) + _steps(raw).T.tobytes() + table)


def write_bci2000(raw: mne.io.BaseRaw, file: Path) -> None:
    """BCI2000, 16 bits (bci2000.org), whose states have a code for as long as something is shown."""
    rate = int(raw.info["sfreq"])
    state = np.zeros((raw.n_times, 3), np.uint8)
    state[:, 0] = 1
    for at, name in _samples(raw):
        state[at : at + 20, 1] = CODES[name]
    lines = [
        "[ State Vector Definition ]",
        "Running 1 0 0 0",
        "StimulusCode 8 0 1 0",
        "SourceTime 8 0 2 0",
        "[ Parameter Definition ]",
        f"Source int SourceCh= {len(raw.ch_names)} 16 1 % // number of channels",
        f"Source int SamplingRate= {rate}Hz 256Hz 1 % // sample rate",
        "",
        "",
    ]
    body = "\r\n".join(lines)
    layout = f"SourceCh= {len(raw.ch_names)} StatevectorLen= 3 DataFormat= int16"
    first = f"BCI2000V= 1.1 HeaderLen= %05d {layout}\r\n"
    head = (first % (len(first % 0) + len(body)) + body).encode()
    steps = np.ascontiguousarray(_steps(raw).T)
    samples = np.concatenate([steps.view(np.uint8).reshape(raw.n_times, -1), state], axis=1)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(head + samples.tobytes())


def write_nihon(raw: mne.io.BaseRaw, file: Path) -> None:
    """Nihon Kohden, as MNE's reader takes it: .EEG with channels of its usual names, and events in .LOG."""
    raw = _whole(raw)
    device = b"EEG-1100C V01.00"
    known = {"Fz": 16, "Cz": 17, "Pz": 18, "Oz": 23, "C3": 4, "C4": 5, "P3": 6, "P4": 7, "VEOG": 20}
    where, rate = 0x1800, int(raw.info["sfreq"])
    head = bytearray(where)
    head[:16] = head[0x81:0x91] = device
    head[0x91], head[0x17FE] = 1, 1
    struct.pack_into("<I", head, 0x92, 0x400)
    head[0x400 + 17] = 1
    struct.pack_into("<I", head, 0x400 + 18, where)
    block = bytearray(0x27 + 10 * len(raw.ch_names))
    struct.pack_into("<HI", block, 0x1A, rate, raw.n_times * 10 // rate)
    block[0x26] = len(raw.ch_names)
    for number, name in enumerate(raw.ch_names):
        block[0x27 + 10 * number] = known[name]
    steps = np.vstack([_steps(raw, 6399.902 / 65535), np.zeros((1, raw.n_times), "<i2")])
    waves = (steps.astype(np.int32) + 0x8000).astype("<u2")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(head + block) + waves.T.tobytes())
    patient = bytearray(0x60)
    patient[:16], patient[0x40:0x4E] = device, f"{BEGUN:%Y%m%d%H%M%S}".encode()
    file.with_suffix(".PNT").write_bytes(patient)
    names = "".join(f"{index:04}={name}\n" for name, index in known.items())
    file.with_suffix(".21E").write_text(f"[ELECTRODE]\n{names}")
    file.with_suffix(".LOG").write_bytes(_nihon_events(raw, device))


def _nihon_events(raw: mne.io.BaseRaw, device: bytes) -> bytes:
    """Blocks of up to 200 events: their seconds, and in another block each the fractions of these."""
    events = [(at / raw.info["sfreq"], name) for at, name in _samples(raw)]
    blocks = [events[start : start + 200] for start in range(0, len(events), 200)]
    log = bytearray(0x92 + 20 * 45)
    log[:16], log[0x91] = device, len(blocks)
    for number, each in enumerate(blocks):
        whole = [
            name.encode().ljust(20, b"\0")
            + f"{second // 3600:02}{second // 60 % 60:02}{second % 60:02}".encode()
            + bytes(19)
            for second, name in ((int(onset), name) for onset, name in each)
        ]
        part = [bytes(24) + f"{round(onset % 1 * 1e6):06}".encode() + bytes(15) for onset, _ in each]
        for slot, rows in ((number, whole), (number + 22, part)):
            struct.pack_into("<I", log, 0x92 + 20 * slot, len(log))
            log += b"\0" + device + b"\0" + bytes([len(rows), 0]) + b"".join(rows)
    return bytes(log)


def write_nicolet(raw: mne.io.BaseRaw, file: Path) -> None:
    """Nicolet: samples, and a header of text beside them. It has no events: a table beside it has."""
    fields = {
        "start_ts": "2020-01-01 12:00:00.000",
        "num_samples": raw.n_times,
        "sample_freq": int(raw.info["sfreq"]),
        "conversion_factor": UNIT,
        "num_channels": len(raw.ch_names),
        "elec_names": f"[{','.join(raw.ch_names)}]",
        "pat_id": 1,
        "adm_id": 1,
        "rec_id": 1,
        "duration_in_sec": raw.n_times / raw.info["sfreq"],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_steps(raw).T.tobytes())
    file.with_suffix(".head").write_text("".join(f"{name}={value}\n" for name, value in fields.items()))
    rows = "".join(f"{at / raw.info['sfreq']}\t0\t{name}\n" for at, name in _samples(raw))
    file.with_name(f"{file.stem}_events.tsv").write_text(f"onset\tduration\ttrial_type\n{rows}")


def write_ctf(raw: mne.io.BaseRaw, folder: Path) -> None:
    """CTF (CTF MEG File Formats, PN900-0088): EEG of one long trial, and a file of markers."""
    count = len(raw.ch_names)
    head = bytearray(1844)
    head[:8] = b"MEG41RS\0"
    struct.pack_into(">h", head, 776, 1)
    head[778:786], head[1033:1044] = b"12:00:00", b"01-Jan-2020"
    struct.pack_into(">ih", head, 1288, raw.n_times, count)
    struct.pack_into(">dd", head, 1296, raw.info["sfreq"], raw.n_times / raw.info["sfreq"])
    struct.pack_into(">h", head, 1312, 1)
    head += struct.pack(">h", 0) + b"".join(name.encode().ljust(32, b"\0") for name in raw.ch_names)
    for _ in raw.ch_names:
        head += struct.pack(">hhidddd", 9, 0, 0, 1.0, 1e6 / UNIT, 1.0, 0.0) + struct.pack(">hhi", 1, 0, 0)
        head += bytes(2 * 8 * 80)
    head += struct.pack(">h", 0)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{folder.stem}.res4").write_bytes(head)
    (folder / f"{folder.stem}.meg4").write_bytes(b"MEG41CP\0" + _steps(raw).astype(">i4").tobytes())
    events = _samples(raw)
    names = sorted({name for _, name in events})
    lines = ["PATH OF DATASET:", "x", "", "", "NUMBER OF MARKERS:", str(len(names)), "", ""]
    for number, name in enumerate(names, start=1):
        rows = [f"0\t{at / raw.info['sfreq']:.9f}" for at, each in events if each == name]
        lines += ["CLASSGROUPID:", "3", "NAME:", name, "COMMENT:", "", "COLOR:", "green", "EDITABLE:", "Yes"]
        lines += ["CLASSID:", str(number), "NUMBER OF SAMPLES:", str(len(rows)), "LIST OF SAMPLES:"]
        lines += ["TRIAL NUMBER\tTIME FROM SYNC POINT (in seconds)", *rows, "", ""]
    (folder / "MarkerFile.mrk").write_text("\n".join(lines))


def write_persyst(raw: mne.io.BaseRaw, file: Path) -> None:
    """Persyst: whole numbers of 16 bits, and a header of text with comments beside them."""
    comments = [f"{at / raw.info['sfreq']:.6f},0,0,100,{name}" for at, name in _samples(raw)]
    sections = {
        "FileInfo": [
            f"File={file.stem}.dat",
            "FileType=Interleaved",
            f"SamplingRate={raw.info['sfreq']:g}",
            "HeaderLength=0",
            f"Calibration={UNIT}",
            f"WaveformCount={len(raw.ch_names)}",
            "DataType=0",
        ],
        "ChannelMap": [f"{name}-Ref={number}" for number, name in enumerate(raw.ch_names, start=1)],
        "Patient": [
            "BirthDate=01/31/80",
            "Sex=",
            "Hand=",
            f"TestDate={BEGUN:%Y.%m.%d}",
            f"TestTime={BEGUN:%H:%M:%S}",
        ],
        "SampleTimes": ["0=0"],
        "Comments": comments,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".dat").write_bytes(_steps(raw).T.tobytes())
    file.write_text("".join("\n".join([f"[{name}]", *lines, ""]) for name, lines in sections.items()))


def _curry_list(name: str, rows: list[str]) -> str:
    head = f"{name} START\n   ListNrRows = {len(rows)}\n{name} END\n\n{name} START_LIST\n"
    return head + "".join(f"{row}\n" for row in rows) + f"{name} END_LIST\n\n"


def _curry(raw: mne.io.BaseRaw) -> tuple[str, str, str]:
    """What Curry says in text: of the recording, of its channels, and of its events."""
    places = mne.channels.make_standard_montage("easycap-M1").get_positions()["ch_pos"]
    names = {name.upper(): 1000 * place for name, place in places.items()}
    rate = raw.info["sfreq"]
    fields = {
        "NumSamples": raw.n_times,
        "NumChannels": len(raw.ch_names),
        "NumTrials": 1,
        "SampleFreqHz": rate,
        "TriggerOffsetUsec": 0,
        "DataFormat": "FLOAT",
        "DataSampOrder": "SAMP",
        "SampleTimeUsec": 1e6 / rate,
        "DataByteOrder": "INTEL",
        "AmplifierInfo": "",
        "FileVersion": 803,
        "StartYear": 2020,
        "StartMonth": 1,
        "StartDay": 1,
        "StartHour": 12,
        "StartMin": 0,
        "StartSec": 0,
        "StartMillisec": 0,
    }
    said = "DATA_PARAMETERS START\n" + "".join(f"   {name} = {value}\n" for name, value in fields.items())
    said += "DATA_PARAMETERS END\n\nDEVICE_PARAMETERS START\n   DataUnit = uV\n"
    said += f"   NumChanThisGroup = {len(raw.ch_names)}\nDEVICE_PARAMETERS END\n\n"
    unknown = np.array([50.0, 80.0, -30.0])  # beside an eye
    at = [" ".join(f"{value:.3f}" for value in names.get(each.upper(), unknown)) for each in raw.ch_names]
    channels = "\n" + _curry_list("LABELS", [*raw.ch_names]) + _curry_list("SENSORS", at)
    events = _samples(raw)
    rows = [f"{at} 0 {CODES[name]} 0 {at} {at} 0 0 0 0 0" for at, name in events]
    return (
        said,
        channels,
        _curry_list("NUMBER_LIST", rows) + _curry_list("REMARK_LIST", [n for _, n in events]),
    )


def write_curry_7(raw: mne.io.BaseRaw, file: Path) -> None:
    """Curry 7: numbers of 32 bits, and beside them .dap, .rs3 and .ceo, as curryreader takes them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((raw.get_data() * 1e6).T.astype("<f4").tobytes())
    for ending, text in zip((".dap", ".rs3", ".ceo"), _curry(raw), strict=True):
        file.with_suffix(ending).write_text(text)


def write_curry_8(raw: mne.io.BaseRaw, file: Path) -> None:
    """Curry 8: the same, with .cdt.dpa and .cdt.ceo."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((raw.get_data() * 1e6).T.astype("<f4").tobytes())
    said, channels, events = _curry(raw)
    file.with_name(f"{file.name}.dpa").write_text(said + channels)
    file.with_name(f"{file.name}.ceo").write_text(events)


WRITERS: dict[str, Callable[[mne.io.BaseRaw, Path], None]] = {
    ".mff": write_mff,
    ".ds": write_ctf,
    ".gdf": write_gdf,
    ".cnt": write_cnt,
    ".EEG": write_nihon,
    ".data": write_nicolet,
    ".lay": write_persyst,
    ".dat": write_curry_7,
    ".cdt": write_curry_8,
}
"""By the ending of the recording."""
