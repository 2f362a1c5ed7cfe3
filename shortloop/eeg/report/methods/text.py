"""The whole methods section, with its references."""

from __future__ import annotations

from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.methods.data import recorded
from shortloop.eeg.report.methods.decoding import decoding
from shortloop.eeg.report.methods.descriptions import descriptions
from shortloop.eeg.report.methods.features import features
from shortloop.eeg.report.methods.references import references_of
from shortloop.eeg.report.methods.software import software
from shortloop.eeg.report.methods.statistics import statistics
from shortloop.text import printable

__all__ = ["methods_file", "methods_text"]

PARTS = (recorded, features, decoding, statistics, descriptions, software)
NEEDED = ("classes", "decoding", "estimator", "group", "permutations")


def methods_text(content: ReportContent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A methods section, of what was done and nothing else.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    paragraphs : tuple of str
    references : tuple of str
        Of the papers that these cite. Both are empty where settings are not known.
    """
    if not content.kinds or any(name not in content.settings for name in NEEDED):
        return (), ()
    paragraphs = tuple(said for part in PARTS if (said := part(content)))
    return paragraphs, tuple(references_of(" ".join(paragraphs)))


def methods_file(content: ReportContent) -> str:
    """The same as one text.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    str
    """
    paragraphs, references = methods_text(content)
    return printable("\n\n".join([*paragraphs, "References", *references]) + "\n")
