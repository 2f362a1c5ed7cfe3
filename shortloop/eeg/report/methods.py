"""A methods section for a paper, from the settings of a study: only what was done, with its references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shortloop import __version__
from shortloop.base.text import counted, listed, printable
from shortloop.eeg.group.settings import RETRAINED
from shortloop.eeg.report.content import WORDS, KindResult, ReportContent
from shortloop.eeg.report.labels import chance_text
from shortloop.eeg.report.recordings import features, recorded, window
from shortloop.eeg.report.sensors import responses

Settings = Mapping[str, Any]
SCORES = {
    "balanced-accuracy": "balanced accuracies, the mean over classes of recall (Brodersen et al., 2010).",
    "accuracy": "the percentage of trials that were classified correctly.",
    "auc": "areas under the receiver operating characteristic curve{}; in cross-validation they were "
    "computed within folds and averaged (Forman & Scholz, 2010).",
}
NAMES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy", "numba": "Numba"}
NEEDED = ("classes", "decoding", "estimator", "group", "permutations")

PAPERS = """
Blankertz, B., Lemm, S., Treder, M., Haufe, S., & Müller, K.-R. (2011). Single-trial analysis and
  classification of ERP components: A tutorial. NeuroImage, 56(2), 814–825.
Brodersen, K. H., Ong, C. S., Stephan, K. E., & Buhmann, J. M. (2010). The balanced accuracy and its
  posterior distribution. 20th International Conference on Pattern Recognition, 3121–3124.
Chang, C.-C., & Lin, C.-J. (2011). LIBSVM: A library for support vector machines. ACM Transactions on
  Intelligent Systems and Technology, 2(3), 27.
Combrisson, E., & Jerbi, K. (2015). Exceeding chance level by chance: The caveat of theoretical chance levels
  in brain signal classification and statistical assessment of decoding accuracy. Journal of Neuroscience
  Methods, 250, 126–136.
Cumming, G., & Finch, S. (2001). A primer on the understanding, use, and calculation of confidence intervals
  that are based on central and noncentral distributions. Educational and Psychological Measurement, 61(4),
  532–574.
Efron, B. (1979). Bootstrap methods: Another look at the jackknife. The Annals of Statistics, 7(1), 1–26.
Fan, R.-E., Chang, K.-W., Hsieh, C.-J., Wang, X.-R., & Lin, C.-J. (2008). LIBLINEAR: A library for large
  linear classification. Journal of Machine Learning Research, 9, 1871–1874.
Forman, G., & Scholz, M. (2010). Apples-to-apples in cross-validation studies: Pitfalls in classifier
  performance measurement. ACM SIGKDD Explorations Newsletter, 12(1), 49–57.
Gramfort, A., Luessi, M., Larson, E., Engemann, D. A., Strohmeier, D., Brodbeck, C., Goj, R., Jas, M.,
  Brooks, T., Parkkonen, L., & Hämäläinen, M. (2013). MEG and EEG data analysis with MNE-Python. Frontiers in
  Neuroscience, 7, 267.
Hand, D. J., & Till, R. J. (2001). A simple generalisation of the area under the ROC curve for multiple class
  classification problems. Machine Learning, 45(2), 171–186.
Haufe, S., Meinecke, F., Görgen, K., Dähne, S., Haynes, J.-D., Blankertz, B., & Bießmann, F. (2014). On the
  interpretation of weight vectors of linear models in multivariate neuroimaging. NeuroImage, 87, 96–110.
Hoerl, A. E., & Kennard, R. W. (1970). Ridge regression: Biased estimation for nonorthogonal problems.
  Technometrics, 12(1), 55–67.
King, J.-R., & Dehaene, S. (2014). Characterizing the dynamics of mental representations: The temporal
  generalization method. Trends in Cognitive Sciences, 18(4), 203–210.
Maris, E., & Oostenveld, R. (2007). Nonparametric statistical testing of EEG- and MEG-data. Journal of
  Neuroscience Methods, 164(1), 177–190.
Nichols, T. E., & Holmes, A. P. (2002). Nonparametric permutation tests for functional neuroimaging: A primer
  with examples. Human Brain Mapping, 15(1), 1–25.
Oostenveld, R., Fries, P., Maris, E., & Schoffelen, J.-M. (2011). FieldTrip: Open source software for
  advanced analysis of MEG, EEG, and invasive electrophysiological data. Computational Intelligence and
  Neuroscience, 2011, 156869.
Pedregosa, F., Varoquaux, G., Gramfort, A., Michel, V., Thirion, B., Grisel, O., … Duchesnay, É. (2011).
  Scikit-learn: Machine learning in Python. Journal of Machine Learning Research, 12, 2825–2830.
Perrin, F., Pernier, J., Bertrand, O., & Echallier, J. F. (1989). Spherical splines for scalp potential and
  current density mapping. Electroencephalography and Clinical Neurophysiology, 72(2), 184–187.
Phipson, B., & Smyth, G. K. (2010). Permutation P-values should never be zero: Calculating exact P-values
  when permutations are randomly drawn. Statistical Applications in Genetics and Molecular Biology, 9(1), 39.
Tallon-Baudry, C., Bertrand, O., Delpuech, C., & Pernier, J. (1997). Oscillatory γ-band (30–70 Hz) activity
  induced by a visual search task in humans. Journal of Neuroscience, 17(2), 722–734.
Hemerik, J., & Goeman, J. (2018). Exact testing with random permutations. TEST, 27(4), 811–825.
Stelzer, J., Chen, Y., & Turner, R. (2013). Statistical inference and multiple testing correction in
  classification-based multi-voxel pattern analysis (MVPA): Random permutations and cluster size control.
  NeuroImage, 65, 69–82.
Winkler, A. M., Ridgway, G. R., Webster, M. A., Smith, S. M., & Nichols, T. E. (2014). Permutation inference
  for the general linear model. NeuroImage, 92, 381–397.
"""


def methods_text(content: ReportContent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not content.kinds or any(name not in content.settings for name in NEEDED):
        return (), ()
    parts = (recorded, features, decoding, statistics, _descriptions, _software)
    paragraphs = tuple(said for part in parts if (said := " ".join(part(content))))
    papers = sorted({**content.settings.get(WORDS, {}).get("papers", {}), **REFERENCES}.items())
    return paragraphs, tuple(full for short, full in papers if short in " ".join(paragraphs))


def methods_file(content: ReportContent) -> str:
    paragraphs, references = methods_text(content)
    return printable("\n\n".join([*paragraphs, "References", *references]) + "\n")


def decoding(content: ReportContent) -> Iterator[str]:
    asked, classes = content.settings["decoding"], list(content.settings["classes"])
    first, by_run = content.kinds[0], content.settings["decoding"].get("fold_by") == "run"
    named = f"one of {len(classes)} classes"
    if len(classes) < 6:
        named = listed(classes).replace(" and ", " or ")
    folded = f"stratified, shuffled {asked['folds']}-fold cross-validation"
    if by_run:
        folded = f"cross-validation in at most {asked['folds']} folds that each held out whole runs,"
    kinds = listed([kind.kind for kind in content.kinds])
    apart = ", separately for each kind of features" if len(content.kinds) > 1 else ""
    if asked.get("subsample"):
        yield (
            "In each participant and phase, trials were drawn at random so that each class had as many as "
            "the smallest."
        )
    yield (
        f"Within each participant and time bin, trials of {first.train_phase} were classified as {named} "
        f"from the {kinds} features of that bin{apart}, by {folded} with the same folds for all bins."
    )
    yield _selected(asked)
    # A build script need not give the words.
    classifier = content.settings.get(WORDS, {}).get("classifier") or content.settings["estimator"]["kind"]
    yield f"The classifier was {classifier}."
    if asked.get("class_weight") is not None:
        yield "Trials were weighted inversely to the number of training trials of their class."
    yield from _generalized(content, asked, by_run)
    each = ", of each class against the rest and averaged over classes (Hand & Till, 2001)"
    yield f"Scores are {SCORES[first.curve.score].format(each if len(classes) > 2 else '')}"
    if lost := sum(kind.left_out for kind in content.kinds):
        yield (
            f"In {folds_without(content.kinds, content.settings)} no feature was selected; "
            f"{'its' if lost == 1 else 'their'} held-out trials counted as guessed."
        )


def _selected(asked: Settings) -> str:
    alpha = asked["select_alpha"]
    by = "by their own mean and standard deviation"
    if asked["scaling"] == "training":
        by = "by the mean and standard deviation of the training trials"
    kept = "all features were used"
    if alpha < 1:
        kept = (
            f"features with p < {alpha:g} in a one-way analysis of variance over the classes, computed on "
            "the training trials alone, were kept"
        )
    return (
        f"In each fold, {kept}; features of training trials were z-scored, and those of held-out trials were "
        f"z-scored {by}."
    )


def folds_without(kinds: Sequence[KindResult], settings: dict[str, Any]) -> str:
    lost = sum(kind.left_out for kind in kinds)
    decoding = settings.get("decoding", {})
    if decoding.get("fold_by") == "run" or "folds" not in decoding:
        return counted(lost, "fold")
    trained = sum(len(kind.participants) * len(kind.train_times) for kind in kinds)
    return f"{lost:,} of {decoding['folds'] * trained:,} folds"


def _generalized(content: ReportContent, asked: Settings, by_run: bool) -> Iterator[str]:
    if not (kinds := [kind for kind in content.kinds if kind.generalization is not None]):
        return
    of = "" if len(kinds) == len(content.kinds) else f" of {listed([kind.kind for kind in kinds])} features"
    start = f"For temporal generalization (King & Dehaene, 2014), the classifiers{of} of each bin"
    if kinds[0].train_phase == kinds[0].test_phase:
        yield f"{start} were also applied to all other bins of the trials that their fold had held out."
    else:
        scaled = " z-scored over its trials," if asked["scaling"] == "separate" else ""
        averaged = "classifiers" if by_run else f"{asked['folds']} classifiers"
        yield (
            f"{start} and fold were applied to each bin of {kinds[0].test_phase},{scaled} and scores were "
            f"averaged over the {averaged} of a bin."
        )


def statistics(content: ReportContent) -> Iterator[str]:
    first = content.kinds[0]
    asked, group = content.settings["permutations"], content.settings["group"]
    alone = first.curve.level == "participant"
    if group["smooth"]:
        sigma = f"{group['smooth']:g} bin{'s' * (group['smooth'] != 1)}"
        reach = f"cut off at {group['truncate']:g} σ"
        yield f"Scores were smoothed over bins with a Gaussian (σ = {sigma}, {reach})."
    chance = f"chance ({chance_text(first.curve)})"
    if first.curve.expected is not None:
        chance = (
            "chance, which was the mean of each participant's own scores under permuted labels, as classes "
            "differed in size (Combrisson & Jerbi, 2015)"
        )
    if alone:
        yield (
            f"In each bin the participant's deviation from {chance} was divided by the standard deviation of "
            "the scores under permuted labels (two-sided z)."
        )
    else:
        people = counted(len(first.participants), "participant")
        yield (
            f"In each bin the scores of the {people} were compared with {chance} by a two-sided one-sample t "
            "test."
        )
    within = "runs" if content.settings["decoding"].get("fold_by") == "run" else "folds"
    yield _null_distribution(asked, first, within)
    yield _corrected(first, group)


def _null_distribution(asked: Settings, first: KindResult, within: str) -> str:
    null, plane = first.curve.null, first.generalization
    maps = f"{len(first.curve.null_max):,}"
    if null == "sign-flips":
        ways = f"all {maps} ways" if _has_every_pattern(first) else f"{maps} random ways"
        return (
            f"The null distribution is of {ways} to flip the signs of the participants' deviations from "
            "chance (Nichols & Holmes, 2002; Winkler et al., 2014)."
        )
    if null not in ("training-labels", "retrained"):
        return (
            f"The null distribution is of {maps} permutations of the true labels of the classified trials, "
            f"within {within} where these were cross-validated, with the predictions unchanged."
        )
    alike = plane is None or plane.null == null
    if null == "retrained":
        count = RETRAINED if asked["retrained"] is None else asked["retrained"]
        again = (
            f"For cross-validated scores all was trained again {count:,} times for each participant, from "
            f"the selection of features on, with labels permuted within {within}; each of {maps} maps of the "
            "null distribution takes one of these, or the true one, of every participant (Stelzer et al., "
            "2013; Hemerik & Goeman, 2018)."
        )
    else:
        again = (
            f"The null distribution{'' if alike else ' of cross-validated scores'} is of {maps} permutations "
            f"of the training labels within {within}, with all classifiers trained again."
        )
    if plane is None or alike:
        return again
    return (
        f"{again} That of scores in the other phase is of {len(plane.null_max):,} permutations of the true "
        "labels of the classified trials, with the predictions unchanged."
    )


def _corrected(first: KindResult, group: Settings) -> str:
    flips = first.curve.null == "sign-flips"
    p = (
        f"p = (1 + b) / (1 + m) for b of m {'sign patterns' if flips else 'permutations'} with at least as "
        "large a statistic (Phipson & Smyth, 2010)"
    )
    if flips and _has_every_pattern(first):
        p = "p is the share of sign patterns with at least as large a statistic"
    return (
        "p values were corrected for all bins by the distribution of the maximum statistic (Nichols & "
        "Holmes, 2002) and by that of the maximum cluster mass (Maris & Oostenveld, 2007), of clusters of "
        f"neighbouring bins with two-sided p < {group['cluster_alpha']:g} that differ from chance the same "
        f"way; {p}. The family-wise error rate is {group['alpha']:g}."
    )


def _has_every_pattern(first: KindResult) -> bool:
    # Random patterns are fewer than all of them.
    return bool(len(first.curve.null_max) == 2 ** len(first.participants))


def _software(content: ReportContent) -> Iterator[str]:
    asked = content.settings.get("input", {})
    names = dict(NAMES)
    if "preprocessing" in asked or content.settings.get("features", {}).get("power"):
        names["mne"] = "MNE-Python"
    names |= content.settings.get(WORDS, {}).get("libraries", {})
    versions = [source.versions for kind in content.kinds for source in kind.sources]
    found = {name: sorted({str(each[name]) for each in versions if name in each}) for name in names}
    said = [f"{called} {' and '.join(found[name])}" for name, called in names.items() if found[name]]
    on = f" on {listed(said)}" if said else ""
    seed = content.settings.get("seed")
    drawn = "" if seed is None else f"; random numbers were drawn with the seed {seed}"
    yield f"All was computed with Shortloop {__version__}{on}{drawn}."


def _descriptions(content: ReportContent) -> Iterator[str]:
    first = content.kinds[0]
    group = first.curve.level == "group"
    if group:
        yield (
            "Effect sizes are Cohen's d of the scores that were tested, with 95 % confidence intervals from "
            "the noncentral t distribution (Cumming & Finch, 2001)."
        )
    if first.individual:
        one, within = first.individual[0], "class and fold" if first.curve.score == "auc" else "class"
        yield (
            f"Intervals of each participant's scores ({100 * one.level:g} %) are percentile bootstrap "
            f"intervals (Efron, 1979) over {one.draws:,} samples of the trials of each {within}."
        )
    if first.individual and group:
        yield (
            "Each participant was also tested alone, by the z of its scores in its own permutations, "
            "corrected for all bins in the same way."
        )
    if any(kind.patterns is not None and kind.patterns.patterns is not None for kind in content.kinds):
        yield (
            "Activation patterns (Haufe et al., 2014) are the covariance, over the training trials of a "
            "fold, of features and decision values of unit variance, averaged over folds and over the "
            "features of a channel."
        )
    if content.evoked:
        baseline = content.evoked[0].baseline
        after = "" if baseline is None else f", after subtraction of the mean of {window(*baseline)}"
        what = listed(sorted({responses(each.unit) for each in content.evoked})).capitalize()
        yield f"{what} are means over the trials of a class{after}."


INITIALS = re.compile(r"(\w\.[ -]?)+")


def _citation(paper: str) -> str:
    ((authors, year),) = re.findall(r"^(.+?) \((\d+)\)", paper)
    first, *others = (each for each in re.split(r", (?:& )?", authors) if not INITIALS.fullmatch(each))
    more = " et al." if len(others) > 1 else "".join(f" & {name}" for name in others)
    return f"{first}{more}, {year}"


REFERENCES = {_citation(paper): paper for paper in PAPERS.replace("\n  ", " ").strip().splitlines()}
