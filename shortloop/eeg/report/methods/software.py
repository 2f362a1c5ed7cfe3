"""What a methods section says of software: what the jobs ran with, as far as it had a part in the results."""

from __future__ import annotations

from shortloop import __version__
from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.sentences import listed

__all__ = ["software"]

NAMES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "Numba"}


def software(content: ReportContent) -> str:
    """The program and the libraries that computed the results, with their versions.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    str
        A sentence.
    """
    asked, estimator = content.settings.get("input", {}), content.settings.get("estimator", {})
    names = dict(NAMES)
    if "preprocessing" in asked or content.settings.get("features", {}).get("power"):
        names["mne"] = "MNE-Python"
    if estimator.get("kind") == "matlab-svm" or estimator.get("path", "").startswith("sklearn."):
        names["sklearn"] = "scikit-learn"
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
