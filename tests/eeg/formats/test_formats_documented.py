"""The page on recordings names every format, step and source of events, and its examples are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.formats.epochs.settings import Preprocessing
from shortloop.eeg.study.load import read_study
from shortloop.settings.base import tag_of

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
FORMATS = InputSettings.kinds()


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_are_read(tmp_path: Path, number: int) -> None:
    file = tmp_path / "study.toml"
    file.write_text(EXAMPLES[number], encoding="utf-8")
    assert read_study(file).name in EXAMPLES[number]


def test_everything_is_there() -> None:
    assert len(EXAMPLES) == 6
    for each in FORMATS:
        assert f"| `{tag_of(each)}` |" in PAGE
    for name in Preprocessing.model_fields:
        assert re.search(rf"\| [^|]*`{name}`[^|]* \|", PAGE)
    for source in ("tsv", "annotations", "stim"):
        assert f"| `{source}` |" in PAGE
