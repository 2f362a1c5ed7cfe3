"""Names and notes of others: the page and the figures show them, and pass nothing on to a reader."""

from __future__ import annotations

import re
import tomllib
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from report_synthetic import details, evoked, kind_result, report_content, write_report

from shortloop.eeg.study.load import DEFAULT_STUDY
from shortloop.eeg.study.schema import Study

ESCAPE = "\x1b[31m\x07\x9b\u202e\u2028\udcff<b>"
SHOWN = r"\x1b[31m\x07\x9b\u202e\u2028\udcff"
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def test_what_is_beside_the_statistics(tmp_path: Path) -> None:
    """Channels, classes, phases, reasons and warnings, in figures, on the page and in the files beside it."""
    many = tuple(f"{ESCAPE} {number}" for number in range(7))
    classes, people = (f"{ESCAPE} a", f"{ESCAPE} b"), (f"{ESCAPE} 1", f"{ESCAPE} 2")
    shown = replace(evoked(2, many, 2), phase=f"phase {ESCAPE}", classes=classes, participants=people)
    result = details(kind_result(participants=people), 2, many)
    assert result.patterns is not None
    result = replace(result, classes=classes, patterns=replace(result.patterns, shown=classes[1:]))
    dropped = [{"class": ESCAPE, "reason": ESCAPE, "trials": 2}]
    account = {"rate": 100.0, "highpass": 0.0, "lowpass": 50.0, "bads": [ESCAPE], "dropped": dropped}
    account["trials"] = 5
    known = {
        "participant": ESCAPE,
        "phase": ESCAPE,
        "kind": "epochs",
        "file": ESCAPE,
        "trials": {ESCAPE: 3},
        "channels": [ESCAPE],
        "sfreq": 100.0,
        "tmin": -0.1,
        "samples": 50,
        "bins": 0,
        "features": 0,
        "accounts": [account],
        "warnings": [ESCAPE],
    }
    study = Study.model_validate(tomllib.loads(DEFAULT_STUDY.read_text(encoding="utf-8")))
    settings = {**study.model_dump(mode="json"), "classes": list(classes)}
    made = report_content(result, evoked=(shown,), recordings=(known,), settings=settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = write_report(made, tmp_path)
    texts = [file for file in written if file.suffix in (".html", ".csv", ".txt")]
    assert {file.name for file in texts} >= {"report.html", "methods.txt", "recordings.csv"}
    for file in texts:
        text = file.read_bytes().decode().replace("\r\n", "\n")
        assert not UNFIT.search(text), file
        of_all = file.name.endswith(
            ("effects.csv", "over_time.csv", "generalization.csv", "null_distribution.csv")
        )
        assert SHOWN in text or of_all
    assert "<b>" not in written[0].read_text(encoding="utf-8")


def test_a_report(tmp_path: Path) -> None:
    names = tuple(f"{ESCAPE} {number}" for number in range(3))
    phases: Any = {"train_phase": f"{ESCAPE} study", "test_phase": f"{ESCAPE} test"}
    made = report_content(
        kind_result(f"amp {ESCAPE}", names, note=f"Note: {ESCAPE}", **phases),
        study=ESCAPE,
        versions={ESCAPE: ESCAPE},
        thread_note=ESCAPE,
        notes=(ESCAPE,),
    )
    made.settings[ESCAPE] = ESCAPE
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of letters that a font does not have
        page, *_ = write_report(made, tmp_path)
    html = page.read_text(encoding="utf-8")
    assert not UNFIT.search(html)
    assert "<b>" not in html
    for place in (f"<title>{SHOWN}", f"<h1>{SHOWN}", f"{SHOWN}&lt;b&gt; 2</th>", f"<code>{SHOWN}"):
        assert place in html
