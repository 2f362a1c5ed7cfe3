"""Names and notes of others: the page and the figures show them, and pass nothing on to a reader."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from report_synthetic import kind_result, report_content

from shortloop.eeg.report.page import write_report

ESCAPE = "\x1b[31m\x07\x9b\u202e\u2028\udcff<b>"
SHOWN = r"\x1b[31m\x07\x9b\u202e\u2028\udcff"
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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
