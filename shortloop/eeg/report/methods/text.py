"""The whole methods section, with software and references."""

from __future__ import annotations

from shortloop import __version__
from shortloop.base.text import listed, printable
from shortloop.eeg.report.content import WORDS, ReportContent
from shortloop.eeg.report.methods.decoding import decoding, statistics
from shortloop.eeg.report.methods.recordings import features, recorded
from shortloop.eeg.report.methods.references import references_of
from shortloop.eeg.report.sensors import responses
from shortloop.eeg.report.sentences import window

NAMES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "Numba"}
NEEDED = ("classes", "decoding", "estimator", "group", "permutations")


def methods_text(content: ReportContent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the paragraphs of a methods section, and the references that these cite."""
    if not content.kinds or any(name not in content.settings for name in NEEDED):
        return (), ()
    parts = (recorded, features, decoding, statistics, _descriptions, _software)
    paragraphs = tuple(said for part in parts if (said := part(content)))
    papers = content.settings.get(WORDS, {}).get("papers", {})
    return paragraphs, tuple(references_of(" ".join(paragraphs), papers))


def methods_file(content: ReportContent) -> str:
    """Write the methods section as one text."""
    paragraphs, references = methods_text(content)
    return printable("\n\n".join([*paragraphs, "References", *references]) + "\n")


def _software(content: ReportContent) -> str:
    """Name the program and the libraries that computed the results, with their versions."""
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


def _descriptions(content: ReportContent) -> str:
    """Describe effect sizes, intervals, patterns and potentials."""
    first, said = content.kinds[0], []
    group = first.curve.level == "group"
    if group:
        said.append(
            "Effect sizes are Cohen's d of the scores that were tested, with 95 % confidence intervals from "
            "the noncentral t distribution (Cumming & Finch, 2001)."
        )
    if first.individual:
        one, within = first.individual[0], "class and fold" if first.curve.score == "auc" else "class"
        said.append(
            f"Intervals of each participant's scores ({100 * one.level:g} %) are percentile bootstrap "
            f"intervals (Efron, 1979) over {one.draws:,} samples of the trials of each {within}."
        )
    if first.individual and group:
        said.append(
            "Each participant was also tested alone, by the z of its scores in its own permutations, "
            "corrected for all bins in the same way."
        )
    if any(kind.patterns is not None and kind.patterns.patterns is not None for kind in content.kinds):
        said.append(
            "Activation patterns (Haufe et al., 2014) are the covariance, over the training trials of a "
            "fold, of features and decision values of unit variance, averaged over folds and over the "
            "features of a channel."
        )
    if content.evoked:
        baseline = content.evoked[0].baseline
        after = "" if baseline is None else f", after subtraction of the mean of {window(*baseline)}"
        what = listed(sorted({responses(each.unit) for each in content.evoked})).capitalize()
        said.append(f"{what} are means over the trials of a class{after}.")
    return " ".join(said)
