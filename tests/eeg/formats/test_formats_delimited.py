"""Text is read as each file writes it: encoding, separator, numbers, dates and lines above the names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from eeg_folders import proposed
from eeg_proposed import proposed_study, runnable
from eeg_recordings import read, refused
from refusal import refusal

from shortloop.eeg.formats.files.delimited import decimal_of, numbers

RATE = 128.0
ROWS = 1000
STARTS = [64, 200, 330, 500, 640, 801]
NAMES = ["TP9", "AF7", "TP10"]
Write = Callable[[float], str]


def plain(value: float) -> str:
    return f"{value:.6f}"


def german(value: float) -> str:
    return f"{value:,.6f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def grouped(value: float) -> str:
    return f'"{value:,.6f}"'


def comma(value: float) -> str:
    return plain(value).replace(".", ",")


def times(kind: str, write: Write) -> list[str]:
    at = np.arange(ROWS) / RATE
    if kind == "seconds":
        return [write(each) for each in at]
    if kind == "clock":
        begin = pd.Timestamp("2024-03-01 23:59:58")
        return [(begin + pd.Timedelta(seconds=each)).strftime("%H:%M:%S.%f") for each in at]
    if kind in ("iso", "iso T", "zone", "iso comma"):
        begin = pd.Timestamp("2024-02-29 23:59:58.25")
        stamps = [(begin + pd.Timedelta(seconds=each)).strftime("%Y-%m-%d %H:%M:%S.%f") for each in at]
        marks = {"iso T": (" ", "T"), "iso comma": (".", ","), "iso": ("", ""), "zone": ("", "")}[kind]
        return [each.replace(*marks) + "+01:00" * (kind == "zone") for each in stamps]
    scale = {"epoch s": 1.0, "epoch ms": 1e3, "epoch us": 1e6}[kind]
    return [write(scale * (1.7e9 + each)) for each in at]


def values(seed: int, offset: float = 0.0) -> np.ndarray:
    return np.round(np.random.default_rng(seed).standard_normal((3, ROWS)) * 900 + offset, 6)


def markers() -> list[str]:
    found = ["0"] * ROWS
    for number, at in enumerate(STARTS):
        found[at : at + 1 + number] = [str(number % 2 + 1)] * (1 + number)  # held for some samples
    return found


def text(
    data: np.ndarray,
    *,
    separator: str = ",",
    write: Write = plain,
    clock: str = "seconds",
    before: str = "",
    names: Sequence[str] = ("timestamps", *NAMES, "marker"),
) -> str:
    head = before + separator.join(names)
    columns = [times(clock, write), *([write(each) for each in row] for row in data), markers()]
    return "\n".join([head, *(separator.join(row) for row in zip(*columns, strict=True))]) + "\n"


def csv(file: Path, **settings: Any) -> Any:
    return read("csv", [file], **{"events": {"face": [1], "house": [2]}, **settings})


def assert_exact(file: Path, data: np.ndarray, **settings: Any) -> None:
    """Epochs are the rows around the markers, to the last digit, and samples are at the rate."""
    epochs = csv(file, **settings)
    np.testing.assert_array_equal(epochs.data, np.stack([data[:, at - 32 : at + 65] for at in STARTS]) * 1e-6)
    assert epochs.labels.tolist() == [0, 1] * 3
    assert (epochs.channels, epochs.sfreq) == (tuple(NAMES), pytest.approx(RATE, rel=1e-6))
    np.testing.assert_allclose(epochs.trial_info["onset"], np.array(STARTS) / RATE, atol=1e-4)


@pytest.mark.parametrize(
    ("how", "encoding"),
    [
        ({}, "utf-8"),
        ({"separator": ";", "write": comma}, "utf-8-sig"),
        ({"separator": ";", "write": german}, "cp1252"),
        ({"separator": "\t", "write": german, "clock": "iso comma"}, "utf-16"),
        ({"separator": ", ", "write": grouped, "clock": "iso"}, "utf-8"),
        ({"write": grouped, "clock": "epoch ms"}, "utf-8"),
        ({"separator": "|", "clock": "iso T"}, "latin-1"),
        ({"separator": ";", "clock": "zone", "before": "sep=;\n"}, "utf-8"),
        ({"before": "%Some device\n%Board = X, Y\n# by Jörg\n\n", "clock": "epoch us"}, "latin-1"),
        ({"before": "# ", "separator": "\t", "clock": "epoch s"}, "utf-8"),
        ({"clock": "clock", "names": ("Time (h:m:s)", *NAMES, "Trigger")}, "utf-8"),
        ({"write": comma, "separator": ";", "names": ("Zeit", *NAMES, "Marker")}, "cp1252"),
    ],
)
@first_cases(1, "offset", [0.0, 4200.0])
def test_numbers_however_written(tmp_path: Path, how: dict[str, Any], encoding: str, offset: float) -> None:
    data = values(1, offset)
    file = tmp_path / "S1.csv"
    file.write_bytes(text(data, **how).encode(encoding))
    assert_exact(file, data)


def test_everybody_is_read_however_their_files_are_written(tmp_path: Path) -> None:
    """One dialect for all left three of four people out, with no word but a count of files."""
    ways: list[dict[str, Any]] = [
        {},
        {"separator": ";", "write": comma},
        {"separator": "\t", "clock": "iso", "names": ("time", *NAMES, "trigger")},
        {"separator": ";", "write": german, "clock": "epoch ms"},
    ]
    (tmp_path / "data").mkdir()
    for who, how in enumerate(ways):
        (tmp_path / f"data/S{who}.csv").write_text(text(values(who), **how), encoding="utf-8")
    found, file = proposed_study(tmp_path / "data", classes="['1', '2']")
    assert "4 participants: S0, S1, S2, S3" in found.lines
    asked = file.read_text(encoding="utf-8").replace("folds = 10", "folds = 2")
    file.write_text(f'{asked}\n[estimator]\nkind = "lda"', encoding="utf-8")
    runnable(file, participants=("S0", "S1", "S2", "S3"))
    for who in range(4):
        assert_exact(tmp_path / f"data/S{who}.csv", values(who))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: lines[1:], "no line of names"),
        (lambda lines: [lines[0].replace("timestamps", "x"), *lines[1:]], "no column of times among x, TP9"),
        (lambda lines: [line.rpartition(",")[0] for line in lines], "no column of markers among timestamps"),
        (lambda lines: [*lines[:200], *lines[260:]], "times are not evenly spaced"),
        (lambda lines: [*lines[:3], lines[3] + ",7", *lines[4:]], "6 values in line 4, 5 names in line 1"),
        (lambda lines: [*lines[:3], lines[3].replace(",0", ",0,"), *lines[4:]], "no numbers"),
    ],
)
def test_who_is_left_out_and_why(tmp_path: Path, change: Callable[[list[str]], list[str]], why: str) -> None:
    (tmp_path / "data").mkdir()
    for who in ("anna", "ben", "carl"):
        lines = text(values(len(who))).splitlines()
        lines = change(lines) if who == "ben" else lines
        (tmp_path / f"data/{who}_rest1.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = proposed(tmp_path / "data", tmp_path / "study")
    (line,) = (each for each in found.lines if "ben" in each and "participants" not in each)
    assert why in line or why == "no numbers"


def test_a_sign_that_may_be_between_thousands_is_asked_about(tmp_path: Path) -> None:
    """1.234 is 1.234 or 1234; the answer that is asked for is taken."""
    data = np.round(np.random.default_rng(0).uniform(100, 999, (3, ROWS)), 3)
    lines = text(data, separator=";", clock="epoch ms", write=lambda value: f"{value:.3f}").splitlines()
    whole = [";".join([str(8 * at), *line.split(";")[1:]]) for at, line in enumerate(lines[1:])]
    file = tmp_path / "S1.csv"
    file.write_text("\n".join([lines[0], *whole]), encoding="utf-8")
    with refusal(r"may be \d{3}\.\d{3} or \d{6}", field="input.decimal") as caught:
        csv(file, time_unit="ms")
    for sign, scale in ((".", 1.0), (",", 1000.0)):
        assert f'decimal = "{sign}"' in str(caught.value)
        epochs = csv(file, time_unit="ms", decimal=sign)
        expected = np.round(data[:, 64 - 31 : 64] * scale, 3) * 1e-6
        np.testing.assert_allclose(epochs.data[0][:, :31], expected, rtol=1e-12)


def test_two_formats_of_numbers_in_one_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "S1.csv"
    file.write_text(text(values(0), separator=";").replace(".5", ",5"), encoding="utf-8")
    with refusal("numbers are written in two formats"):
        csv(file)
    lines = text(values(0), separator=";").splitlines()  # where only a late row shows it
    lines[700] = lines[700].replace(".", ",")
    file.write_text("\n".join(lines), encoding="utf-8")
    with refusal("rows have no time", "line 701"):
        csv(file)


@pytest.mark.parametrize("seed", range(30))
def test_numbers_of_any_format_are_those_that_were_written(seed: int) -> None:
    """A value is the one that was written, or none; never another one."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.integers(-3, 9, 60)
    places = int(rng.integers(0, 7))
    given = np.round(rng.standard_normal(60) * sizes, places)
    signs = [(".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (".", ""), (",", "")]
    point, group = signs[seed % 7]
    swap = str.maketrans({",": group, ".": point})
    texts = [f"{value:,.{places}f}".translate(swap) for value in given]
    found = decimal_of(texts, ";")
    if found in (".", ","):
        np.testing.assert_array_equal(numbers(pd.Series(texts, dtype=str), str(found)), given)
        return
    assert isinstance(found, tuple)
    assert places in (0, 3)


@pytest.mark.parametrize(
    "wrong", ["1,2,3", "12,34.5", "1.2.3", "1,2345.6", ",", "-", "1 2", "0x1F", "1_000", "٣"]
)
def test_what_is_no_number_is_none(wrong: str) -> None:
    assert np.isnan(numbers(pd.Series([wrong], dtype=str), ".")).all()


def openbci(data: np.ndarray, *, lost: slice | None = None, packet: int = 10) -> str:
    head = ["%OpenBCI Raw EXG Data", "%Number of channels = 3", f"%Sample Rate = {RATE:g} Hz", "%Board = X"]
    names = ["Sample Index", *(f" EXG Channel {each}" for each in range(3)), " Accel Channel 0"]
    names += [" Other", " Other", " Marker Channel", " Timestamp", " Timestamp (Formatted)"]
    rows = [
        f"{at % 256}.0, {', '.join(f'{value:.6f}' for value in data[:, at])}, 0.01, 0.0, 0.0, "
        f"{float(markers()[at])}, {1.7e9 + at // packet * packet / RATE:.6f}, 2024-03-01 10:00:00.5"
        for at in range(ROWS)
    ]
    if lost is not None:
        del rows[lost]
    return "\n".join([*head, ",".join(names), *rows]) + "\n"


def test_openbci(tmp_path: Path) -> None:
    """Times are of packets; the rate is in a comment, and a counter says that no sample is lost."""
    data = values(5)
    file = tmp_path / "S1.txt"
    file.write_text(openbci(data), encoding="utf-8")
    with pytest.warns(UserWarning, match="left out: Sample Index, Accel Channel 0, Other, Other.1"):
        epochs = csv(file)
    np.testing.assert_array_equal(epochs.data, np.stack([data[:, at - 32 : at + 65] for at in STARTS]) * 1e-6)
    assert epochs.sfreq == RATE
    assert epochs.channels == ("EXG Channel 0", "EXG Channel 1", "EXG Channel 2")
    file.write_text(openbci(data, lost=slice(400, 403)), encoding="utf-8")
    with refusal("samples are lost", "line 406 counts 147 after 143"):
        csv(file)
    (tmp_path / "data").mkdir()
    for who in ("S1", "S2"):
        (tmp_path / f"data/{who}.txt").write_text(openbci(data), encoding="utf-8")
    assert "drop" not in proposed(tmp_path / "data", tmp_path / "study").settings.replace("# drop", "")


def test_a_rate_that_is_said_stands_for_times_of_packets(tmp_path: Path) -> None:
    data = values(6)
    lines = [line.split(",") for line in text(data).splitlines()]
    stamps = np.arange(ROWS) // 12 * 12 / RATE
    for row, at in zip(lines[1:], stamps, strict=True):
        row[0] = f"{at:.6f}"
    file = tmp_path / "S1.csv"
    file.write_text("\n".join(map(",".join, lines)), encoding="utf-8")
    with refusal("times do not increase", "sfreq = 128"):
        csv(file)
    assert_exact(file, data, sfreq=128)
    with refusal("not that of the times"):
        csv(file, sfreq=250)
    file.write_text("\n".join(",".join(row[1:]) for row in lines), encoding="utf-8")
    with refusal("no column of times", "sfreq"):
        csv(file)
    assert_exact(file, data, sfreq=128)
    gap = [*lines[:500], *([f"{float(row[0]) + 0.05:.6f}", *row[1:]] for row in lines[500:])]
    file.write_text("\n".join(map(",".join, gap)), encoding="utf-8")
    csv(file, sfreq=128)


def test_columns_that_could_be_the_markers_are_asked_about(tmp_path: Path) -> None:
    data = values(7)
    frame = pd.DataFrame(data.T, columns=NAMES)
    frame.insert(0, "time", np.arange(ROWS) / RATE)
    frame["event"], frame["condition"] = markers(), ["rest", "task"] * (ROWS // 2)
    (tmp_path / "data").mkdir()
    for who in ("S1", "S2"):
        frame.to_csv(tmp_path / f"data/{who}.csv", index=False)
    with refusal("several columns may be the markers", f"marker = {json.dumps('event')}"):
        csv(tmp_path / "data/S1.csv")
    assert_exact(tmp_path / "data/S1.csv", data, marker="event")
    found = proposed(tmp_path / "data", tmp_path / "study")
    assert "Which column has the markers? Found: event: 1 (" in found.questions[0]
    frame["condition"] = 0  # a column without any marker is none
    frame.to_csv(tmp_path / "data/S1.csv", index=False)
    assert_exact(tmp_path / "data/S1.csv", data)


def test_numbers_of_samples_are_no_milliseconds(tmp_path: Path) -> None:
    """Times that go up by 1 may be either: the rate of 1000 Hz was taken without a word."""
    data = values(8)
    lines = [line.split(",") for line in text(data).splitlines()]
    (tmp_path / "data").mkdir()
    for who in ("S1", "S2"):
        counted = [lines[0], *([str(at), *row[1:]] for at, row in enumerate(lines[1:]))]
        (tmp_path / f"data/{who}.csv").write_text("\n".join(map(",".join, counted)), encoding="utf-8")
    found = proposed(tmp_path / "data", tmp_path / "study")
    assert "Which unit do the times have? Found: ms, or numbers of samples" in found.questions[0]
    assert '# time_unit = "ms"' in found.settings
    assert_exact(tmp_path / "data/S1.csv", data, sfreq=128)
    with refusal("cannot be meant in Hz"):
        csv(tmp_path / "data/S1.csv")


def table(seed: int = 0, rows: int = 1000, start: float = 1.7e9) -> pd.DataFrame:
    data = np.random.default_rng(seed).standard_normal((rows, 3)) * 20
    marker = np.zeros(rows)
    for number, at in enumerate(STARTS):
        marker[at : at + 1 + number] = number % 2 + 1  # held for some samples
    times = start + np.arange(rows) / RATE
    signals = dict(zip(NAMES, data.T, strict=True))
    return pd.DataFrame({"timestamps": times, **signals, "marker": marker})


def save(folder: Path, frame: pd.DataFrame, **how: Any) -> Path:
    file = folder / "S1.csv"
    frame.to_csv(file, index=False, **how)
    return file


@first_cases(
    2,
    ("rates", "span", "samples"),
    [
        ((127.99, 128.013, 127.996), (-0.25, 0.5), (-32, 64)),
        # Half a sample at the nominal rate, as MNE rounds.
        ((249.9, 250.1, 250.0), (-0.25, 0.75), (-62, 188)),
        ((255.97, 256.02, 256.1), (-1.5, 1.498), (-384, 383)),
        ((499.83, 500.2, 500.0), (-0.2, 0.8), (-100, 400)),
    ],
)
def test_rates_of_one_device_are_one(
    tmp_path: Path, rates: tuple[float, ...], span: tuple[float, float], samples: tuple[int, int]
) -> None:
    """Each clock goes a little differently: every sample is kept as it is, whatever rate is asked for."""
    frames, files = [], []
    for number, rate in enumerate(rates):
        frame = table(number, rows=2500)
        frame["timestamps"] = 1.7e9 + np.arange(2500) / rate
        frame["marker"] = np.roll(frame["marker"], 700)
        frames.append(frame)
        files.append(save(tmp_path, frame).rename(tmp_path / f"S1_run{number}.csv"))
    at = [start + 700 for start in STARTS]
    values = [frame[["TP9", "AF7", "TP10"]].to_numpy().T * 1e-6 for frame in frames]
    expected = np.concatenate([[x[:, a + samples[0] : a + samples[1] + 1] for a in at] for x in values])
    how: dict[str, Any] = {"events": {"face": [1], "house": [2]}, "tmin": span[0], "tmax": span[1]}
    for steps in ({}, {"resample": round(rates[0])}):
        epochs = read("csv", files, preprocessing=steps, **how)
        np.testing.assert_array_equal(epochs.data, expected)
        assert epochs.sfreq == pytest.approx(rates[0], rel=1e-5)


def test_onsets_of_a_table_are_of_the_clock_of_the_recording(tmp_path: Path) -> None:
    """At the nominal rate, an event after an hour would be seconds off."""
    frame = table(rows=2500)
    frame["timestamps"] = np.arange(2500) / 127.9
    file = save(tmp_path, frame.assign(marker=0))
    onsets = "".join(f"{2000 / 127.9 + at}\t0\t{name}\n" for at, name in ((0.0, "face"), (1.0, "house")))
    (tmp_path / "S1_events.tsv").write_text(f"onset\tduration\ttrial_type\n{onsets}")
    epochs = read("csv", [file])
    values = frame[["TP9", "AF7", "TP10"]].to_numpy().T * 1e-6
    np.testing.assert_array_equal(epochs.data[0], values[:, 2000 - 32 : 2000 + 65])


def test_names_units_and_separators(tmp_path: Path) -> None:
    frame = table(start=0.0)
    plain = csv(save(tmp_path, frame))
    other = frame.rename(columns={"timestamps": "t", "marker": "event"})
    other["t"] *= 1000
    other[["TP9", "AF7", "TP10"]] /= 1000
    other["event"] = other["event"].map({0.0: "", 1.0: "face", 2.0: "house"})
    other["mood"] = ["fine", *["3"] * (len(other) - 1)]
    names = {"time": "t", "time_unit": "ms", "marker": "event", "unit": "mV", "separator": ";"}
    file = save(tmp_path, other, sep=";")
    epochs = csv(file, events={}, drop=("mood",), **names)
    np.testing.assert_allclose(epochs.data, plain.data, rtol=1e-12)
    np.testing.assert_array_equal(epochs.labels, plain.labels)
    with refusal("values that are not numbers", "line 2 has 'fine' in mood", found="mood"):
        csv(file, events={}, **names)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    def expect(problem: str, frame: pd.DataFrame, *parts: str) -> None:
        refused(lambda files: csv(*files), [save(tmp_path, frame)], problem, *parts)

    frame = table()
    expect("no column of markers", frame.drop(columns="marker"), "input.marker")
    expect("not evenly spaced", frame.drop(index=range(300, 310)), "between rows 300 and 301")
    expect("not evenly spaced", frame.drop(index=[500]), "between rows 500 and 501")
    packets = frame.assign(timestamps=frame["timestamps"].to_numpy()[np.arange(1000) // 12 * 12])
    expect("times do not increase", packets)
    lost = frame.copy()
    lost.loc[17, "AF7"] = np.nan
    expect("not numbers", lost, "AF7")


def test_files_that_need_other_settings_are_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for who, scale in (("S1", 1.0), ("S2", 1.0), ("S3", 1e-6)):
        lines = text(values(3) * scale, write=lambda value: f"{value:.12f}")
        (tmp_path / f"data/{who}.csv").write_text(lines, encoding="utf-8")
    found = proposed(tmp_path / "data", tmp_path / "study")
    assert "unit is V, of the others µV" in next(each for each in found.lines if "S3" in each)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1.234,5", "2"], ","),
        (["1,234.5", "2"], "."),
        (["1.234.567"], ","),
        (["0.123"], "."),
        (["12,5", "1.234"], ","),
        (["1234.567", "1.234"], "."),
        (["1,5", "2.5"], ("1,5", "2.5")),
        (["1.234"], ("1.234",)),
        (["-1,234"], ("-1,234",)),
        (["1", "2"], "."),
        (["2024-03-01 10:00:00,125", "1.5", "word, or two.", "1e-5"], "."),
    ],
)
def test_the_sign_before_fractions(texts: list[str], expected: object) -> None:
    assert decimal_of(texts, ";") == expected
