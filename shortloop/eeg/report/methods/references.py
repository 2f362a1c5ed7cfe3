"""Papers that a methods section can cite, by their citations."""

from __future__ import annotations

import re
from collections.abc import Mapping

PAPERS = """
Blankertz, B., Lemm, S., Treder, M., Haufe, S., & Müller, K.-R. (2011). Single-trial analysis and
classification of ERP components: A tutorial. NeuroImage, 56(2), 814–825.

Brodersen, K. H., Ong, C. S., Stephan, K. E., & Buhmann, J. M. (2010). The balanced accuracy and its
posterior distribution. 20th International Conference on Pattern Recognition, 3121–3124.

Chang, C.-C., & Lin, C.-J. (2011). LIBSVM: A library for support vector machines. ACM Transactions on
Intelligent Systems and Technology, 2(3), 27.

Combrisson, E., & Jerbi, K. (2015). Exceeding chance level by chance: The caveat of theoretical chance
levels in brain signal classification and statistical assessment of decoding accuracy. Journal of
Neuroscience Methods, 250, 126–136.

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

Hand, D. J., & Till, R. J. (2001). A simple generalisation of the area under the ROC curve for multiple
class classification problems. Machine Learning, 45(2), 171–186.

Haufe, S., Meinecke, F., Görgen, K., Dähne, S., Haynes, J.-D., Blankertz, B., & Bießmann, F. (2014). On the
interpretation of weight vectors of linear models in multivariate neuroimaging. NeuroImage, 87, 96–110.

Hoerl, A. E., & Kennard, R. W. (1970). Ridge regression: Biased estimation for nonorthogonal problems.
Technometrics, 12(1), 55–67.

King, J.-R., & Dehaene, S. (2014). Characterizing the dynamics of mental representations: The temporal
generalization method. Trends in Cognitive Sciences, 18(4), 203–210.

Maris, E., & Oostenveld, R. (2007). Nonparametric statistical testing of EEG- and MEG-data. Journal of
Neuroscience Methods, 164(1), 177–190.

Nichols, T. E., & Holmes, A. P. (2002). Nonparametric permutation tests for functional neuroimaging: A
primer with examples. Human Brain Mapping, 15(1), 1–25.

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
INITIALS = re.compile(r"(\w\.[ -]?)+")


def _citation(paper: str) -> str:
    ((authors, year),) = re.findall(r"^(.+?) \((\d+)\)", paper)
    first, *others = (each for each in re.split(r", (?:& )?", authors) if not INITIALS.fullmatch(each))
    more = " et al." if len(others) > 1 else "".join(f" & {name}" for name in others)
    return f"{first}{more}, {year}"


REFERENCES = {_citation(paper): paper for paper in (" ".join(each.split()) for each in PAPERS.split("\n\n"))}


def references_of(text: str, more: Mapping[str, str]) -> list[str]:
    """List the papers that a text cites, of those here and more."""
    return [full for short, full in sorted({**more, **REFERENCES}.items()) if short in text]
