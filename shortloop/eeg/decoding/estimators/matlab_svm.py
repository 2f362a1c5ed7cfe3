"""The published MATLAB analysis: one-versus-all linear SVM, unpenalised intercept, no grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings, one_versus_rest

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.eeg.decoding.models import Fitted


class MatlabSvmSettings(EstimatorSettings):
    """The published MATLAB analysis: one-versus-all linear SVM, unpenalised intercept, no grid."""

    weighs_classes = True
    kind: Literal["matlab-svm"] = Field("matlab-svm", description="the MATLAB-like estimator")
    C: float = Field(1.0, gt=0, description="box constraint; default 1")
    kernel_scale: float | Literal["auto"] = Field(
        "auto", description="divides the features; default 'auto': median distance between the classes"
    )
    tol: float = Field(1e-3, gt=0, description="stopping tolerance of the solver; default 1e-3")

    @property
    def libraries(self) -> Mapping[str, str]:
        return {"sklearn": "scikit-learn"}

    def described(self, n_classes: int) -> str:
        by = "the median distance between trials of different classes"
        if self.kernel_scale != "auto":
            by = f"{self.kernel_scale:g}"
        return (
            f"a {one_versus_rest(n_classes)}linear support vector machine with hinge loss, L2 penalty and "
            "unpenalised intercept (LIBSVM by way of scikit-learn; Chang & Lin, 2011; Pedregosa et al., "
            f"2011), with box constraint C = {self.C:g}, features divided by {by} and a stopping tolerance "
            f"of {self.tol:g}"
        )

    def fit(self, x: FloatArray, labels: IntArray, *, balanced: bool = False) -> Fitted:
        """Fit one-versus-all on one kernel; balanced as scikit-learn's OneVsRestClassifier is."""
        # The largest decision has fitcecoc's smallest loss: max(0, 1 − s) − max(0, 1 + s) falls with s.
        import numpy as np
        from sklearn.svm import SVC

        from shortloop.eeg.decoding.models import Fitted

        gram, scale = x @ x.T, self.kernel_scale
        if scale == "auto":
            square = np.diag(gram)
            distance = np.sqrt(np.maximum(square[:, np.newaxis] + square - 2 * gram, 0))
            # MATLAB's own heuristic is a random subsample and not published; this is its stated aim.
            scale = float(np.median(distance[labels[:, np.newaxis] != labels])) or 1.0
        gram /= scale**2
        weights, intercepts, weight = [], [], "balanced" if balanced else None
        for k in range(int(labels.max()) + 1):
            machine = SVC(C=self.C, kernel="precomputed", tol=self.tol, class_weight=weight)
            machine.fit(gram, labels == k)
            weights.append(machine.dual_coef_[0] @ x[machine.support_] / scale**2)
            intercepts.append(machine.intercept_[0])
        return Fitted(np.array(weights), np.array(intercepts))
