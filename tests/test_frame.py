"""The frame knows no analysis: it imports none, names none, and has no words of one."""

from __future__ import annotations

import re

from house import MODULES, ROOT, id_of, imports_of

# EEG speaks of these; the frame of partitions, units and arrays. Parts of names count, as in `n_trials`.
WORDS = re.compile(r"(?<![a-z])(?:participant|trial|epoch|channel|bin)s?(?![a-z])", re.IGNORECASE)
ANALYSIS = re.compile(r"(?<![a-z])eeg(?![a-z])", re.IGNORECASE)

ROOMS = ("settings", "engines", "worker", "jobs", "upkeep", "report", "cli")
LIBRARY = ROOT / "shortloop"
FRAME = [file for file in MODULES if file.parent == LIBRARY or file.relative_to(LIBRARY).parts[0] in ROOMS]

# Still to be cleared.
HAVE_WORDS = {"shortloop/worker/records.py"}
NAME_THE_ANALYSIS = {
    "shortloop/__init__.py",
    "shortloop/jobs/dry_run.py",
    "shortloop/jobs/executor.py",
    "shortloop/jobs/planner.py",
    "shortloop/jobs/settings_files.py",
}


def test_every_file_but_those_of_analyses_is_the_frames() -> None:
    others = {file.relative_to(LIBRARY).parts[0] for file in set(MODULES) - set(FRAME)}
    assert all((LIBRARY / name / "analysis.py").is_file() for name in others)
    assert len(FRAME) > 60


def test_the_frame_has_no_words_of_an_analysis() -> None:
    found = {
        f"{id_of(file)}: {match[0]}"
        for file in FRAME
        if id_of(file) not in HAVE_WORDS
        for match in WORDS.finditer(file.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_the_frame_names_no_analysis() -> None:
    found = {id_of(file) for file in FRAME if ANALYSIS.search(file.read_text(encoding="utf-8"))}
    assert found - NAME_THE_ANALYSIS == set()


def test_the_frame_imports_no_analysis() -> None:
    found = {
        id_of(file) for file in FRAME if any(name.startswith("shortloop.eeg") for name in imports_of(file))
    }
    assert found - NAME_THE_ANALYSIS == set()


def test_the_reader_of_words_sees_them() -> None:
    """This test's own tool: plurals, parts of names, and no more than whole words."""
    for text in ("Trials", "n_trials", "the epoch's", "bins × features", "CHANNEL_1"):
        assert WORDS.search(text)
    for text in ("binary", "trialling", "combine", "participation", "cabin"):
        assert not WORDS.search(text)
