"""The whole methods section, with software and references."""

from __future__ import annotations

from shortloop import __version__
from shortloop.base.text import printable
from shortloop.eeg.report.content import WORDS, ReportContent
from shortloop.eeg.report.methods.data import recorded
from shortloop.eeg.report.methods.decoding import decoding
from shortloop.eeg.report.methods.descriptions import descriptions
from shortloop.eeg.report.methods.features import features
from shortloop.eeg.report.methods.references import references_of
from shortloop.eeg.report.methods.statistics import statistics
from shortloop.eeg.report.sentences import listed

__all__ = ["methods_file", "methods_text", "software"]

NAMES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "Numba"}
NEEDED = ("classes", "decoding", "estimator", "group", "permutations")


def software(content: ReportContent) -> str:
    """The program and the libraries that computed the results, with their versions."""
    asked = content.settings.get("input", {})
    names = dict(NAMES)
    if "preprocessing" in asked or content.settings.get("features", {}).get("power"):
        names["mne"] = "MNE-Python"
    names |= content.settings.get(WORDS, {}).get("libraries", {})
    found: dict[str, set[str]] = {name: set() for name in names}
    for versions in (source.versions for kind in content.kinds for source in kind.sources):
        for name in names:
            if name in versions:
                found[name].add(str(versions[name]))
    said = [f"{called} {' and '.join(sorted(found[name]))}" for name, called in names.items() if found[name]]
    on = f" on {listed(said)}" if said else ""
    seed = content.settings.get("seed")
    drawn = "" if seed is None else f"; random numbers were drawn with the seed {seed}"
    return f"All was computed with Shortloop {__version__}{on}{drawn}."


PARTS = (recorded, features, decoding, statistics, descriptions, software)


def methods_text(content: ReportContent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A methods section, of what was done and nothing else."""
    if not content.kinds or any(name not in content.settings for name in NEEDED):
        return (), ()
    paragraphs = tuple(said for part in PARTS if (said := part(content)))
    papers = content.settings.get(WORDS, {}).get("papers", {})
    return paragraphs, tuple(references_of(" ".join(paragraphs), papers))


def methods_file(content: ReportContent) -> str:
    """The same as one text."""
    paragraphs, references = methods_text(content)
    return printable("\n\n".join([*paragraphs, "References", *references]) + "\n")
