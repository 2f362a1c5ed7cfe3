"""Text with a time and a marker column: epochs are the rows around the markers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from eeg_recordings import read

from shortloop.base.errors import InputError

RATE = 128.0
STARTS = [64, 200, 330, 500, 640, 801]


def table(seed: int = 0, rows: int = 1000, start: float = 1.7e9) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((rows, 3)) * 20
    marker = np.zeros(rows)
    for number, at in enumerate(STARTS):
        marker[at : at + 1 + number] = number % 2 + 1  # held for some samples
    times = start + np.arange(rows) / RATE
    return pd.DataFrame(
        {"timestamps": times, "TP9": data[:, 0], "AF7": data[:, 1], "TP10": data[:, 2], "marker": marker}
    )


def save(folder: Path, frame: pd.DataFrame, **how: Any) -> Path:
    file = folder / "S1.csv"
    frame.to_csv(file, index=False, **how)
    return file


def csv(file: Path, **settings: Any) -> Any:
    return read("csv", [file], **{"events": {"face": [1], "house": [2]}, **settings})


def test_epochs_are_the_rows_around_the_markers(tmp_path: Path) -> None:
    frame = table()
    epochs = csv(save(tmp_path, frame))
    values = frame[["TP9", "AF7", "TP10"]].to_numpy().T * 1e-6
    np.testing.assert_array_equal(epochs.data, np.stack([values[:, at - 32 : at + 65] for at in STARTS]))
    assert epochs.labels.tolist() == [0, 1] * 3
    assert epochs.channels == ("TP9", "AF7", "TP10")
    assert epochs.sfreq == pytest.approx(RATE, rel=1e-7)
    np.testing.assert_allclose(epochs.trial_info["onset"], np.array(STARTS) / RATE, atol=1e-4)


@first_cases(
    2,
    ("rates", "span", "samples"),
    [
        ((127.99, 128.013, 127.996), (-0.25, 0.5), (-32, 64)),
        (
            (249.9, 250.1, 250.0),
            (-0.25, 0.75),
            (-62, 188),
        ),  # half a sample at the nominal rate, as MNE rounds
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
    with pytest.raises(InputError, match="values that are not numbers") as caught:
        csv(file, events={}, **names)
    assert caught.value.found == "mood"
    assert "line 2 has 'fine' in mood" in str(caught.value)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    def expect(problem: str, frame: pd.DataFrame, *parts: str) -> None:
        with pytest.raises(InputError, match=problem) as caught:
            csv(save(tmp_path, frame))
        for part in parts:
            assert part in str(caught.value)

    frame = table()
    expect("no column of times", frame.drop(columns="timestamps"), "TP9, AF7")
    expect("no column of markers", frame.drop(columns="marker"), "input.marker")
    expect("not evenly spaced", frame.drop(index=range(300, 310)), "between rows 300 and 301")
    expect("not evenly spaced", frame.drop(index=[500]), "between rows 500 and 501")
    packets = frame.assign(timestamps=frame["timestamps"].to_numpy()[np.arange(1000) // 12 * 12])
    expect("times do not increase", packets)
    expect("times do not increase", frame.assign(timestamps=frame["timestamps"][::-1].to_numpy()))
    lost = frame.copy()
    lost.loc[17, "AF7"] = np.nan
    expect("not numbers", lost, "AF7")
