"""Cross-validated LDA of many label vectors is scikit-learn's, one label vector, bin and fold at a time."""

from __future__ import annotations

import numpy as np
import pytest
from cross_validated_lda import cross_validate_lda
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from source_tree import ROOT

from shortloop.base.errors import InputError
from shortloop.eeg.decoding.batched import scores as machines
from shortloop.eeg.decoding.batched.scores import Labellings, block_size, winners
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds

N400 = ROOT.parent / "shared" / "data" / "n400" / "subject04-epo.fif"


def recordings(n_classes: int, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_features)
    truth = rng.permutation(np.repeat(np.arange(n_classes), [17, 13, 11, 9][:n_classes])).astype(np.int8)
    data = rng.standard_normal((3, len(truth), n_features)) + 2.0
    data[1:] += 0.8 * rng.standard_normal((n_classes, n_features))[truth]
    folds = stratified_folds(truth, 4, 0)
    labels = permuted_labels(truth, 6, seed=0, names=("S01",), folds=folds)
    labels[0] = truth
    return data.astype(np.float32), labels, folds


def theirs(
    data: np.ndarray, labels: np.ndarray, folds: np.ndarray, scaling: str, shrinkage: float
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Predictions, and decisions (held-out trials × …) in the order of labellings, bins and folds."""
    predicted = np.empty((len(labels), *data.shape[:2]), dtype=int)
    decisions = []
    for i, each in enumerate(labels):
        for b, x in enumerate(data.astype(float)):
            for fold in range(folds.max() + 1):
                train, held_out = folds != fold, folds == fold
                scaler = StandardScaler().fit(x[train])
                lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
                lda.fit(scaler.transform(x[train]), each[train])
                other = scaler if scaling == "training" else StandardScaler().fit(x[held_out])
                decisions.append(lda.decision_function(other.transform(x[held_out])))
                predicted[i, b, held_out] = lda.predict(other.transform(x[held_out]))
    return predicted, decisions


@pytest.mark.parametrize("scaling", ["training", "separate"])
@pytest.mark.parametrize("n_features", [7, pytest.param(30, marks=pytest.mark.slow), 90])
@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow), 4])
def test_predictions_and_decisions(n_classes: int, n_features: int, scaling: str) -> None:
    data, labels, folds = recordings(n_classes, n_features)
    expected, decisions = theirs(data, labels, folds, scaling, 0.1)
    kwargs = {"n_classes": n_classes, "shrinkage": 0.1, "scaling": scaling}
    predicted = cross_validate_lda(data, labels, folds, **kwargs)  # type: ignore[arg-type]
    np.testing.assert_array_equal(predicted, expected)
    found = cross_validate_lda(data, labels, folds, decisions=True, **kwargs)  # type: ignore[arg-type]
    assert found.shape == (len(labels), len(data), n_classes - 1, data.shape[1])
    own = [found[i, b][:, folds == f].T for i in range(len(labels)) for b in range(3) for f in range(4)]
    for each, other in zip(own, decisions):
        contrast = other[:, np.newaxis] if n_classes == 2 else other[:, 1:] - other[:, :1]
        np.testing.assert_allclose(each, contrast, rtol=0, atol=1e-10 * np.abs(other).max())


@pytest.mark.parametrize("n_features", [5, 60])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_blocks_of_label_vectors(n_classes: int, n_features: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data, labels, folds = recordings(n_classes, n_features)
    labels = permuted_labels(labels[0], 200, seed=1, names=("S02",), folds=folds)
    kwargs = {"n_classes": n_classes, "shrinkage": 0.1}
    whole = cross_validate_lda(data, labels, folds, **kwargs)  # type: ignore[arg-type]
    again = cross_validate_lda(data, labels, folds, **kwargs)  # type: ignore[arg-type]
    assert whole.tobytes() == again.tobytes()
    monkeypatch.setattr(machines, "IN_CACHE", 1)
    assert block_size(1) == 64
    blocks = cross_validate_lda(data, labels, folds, **kwargs)  # type: ignore[arg-type]
    np.testing.assert_array_equal(blocks, whole)


def test_labels_that_are_not_balanced_alike() -> None:
    # Shuffled over all trials: each labelling has class sizes of its own in each fold.
    data, labels, folds = recordings(3, 8)
    labels = permuted_labels(labels[0], 5, seed=2, names=("S03",))
    sizes = {tuple(np.bincount(each[folds == 0], minlength=3)) for each in labels}
    assert len(sizes) > 1
    found = cross_validate_lda(data, labels, folds, n_classes=3, shrinkage=0.1)
    np.testing.assert_array_equal(found, theirs(data, labels, folds, "training", 0.1)[0])


@pytest.mark.parametrize("n_features", [6, 80])
def test_constant_features_are_left_out(n_features: int) -> None:
    data, labels, folds = recordings(2, n_features)
    data[:, :, 0] = 5.0
    data[:, folds != 1, 1] = -3.0  # constant but for the held-out trials of one fold
    found = cross_validate_lda(data, labels, folds, n_classes=2, shrinkage=0.1, decisions=True)
    assert np.isfinite(found).all()
    data[:, :, 0] = 1e6
    other = cross_validate_lda(data, labels, folds, n_classes=2, shrinkage=0.1, decisions=True)
    np.testing.assert_allclose(other, found, rtol=1e-9, atol=1e-12)


def test_winners_are_the_first_of_the_largest() -> None:
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 5):
        contrasts = rng.integers(-2, 3, (40, n_classes - 1, 30)).astype(float)  # with ties
        whole = np.concatenate([np.zeros((40, 1, 30)), contrasts], axis=1)
        np.testing.assert_array_equal(winners(contrasts, n_classes), whole.argmax(axis=1))
        own = rng.integers(-2, 3, (40, n_classes, 30)).astype(float)
        np.testing.assert_array_equal(winners(own, n_classes), own.argmax(axis=1))


def test_class_absent_from_training_trials() -> None:
    data, labels, _ = recordings(2, 5)
    alone = (labels[0] == 1).astype(np.int32)
    with pytest.raises(InputError, match="every class in every fold"):
        cross_validate_lda(data, labels, alone, n_classes=2, shrinkage=0.1)
    with pytest.raises(InputError, match="unknown class"):
        Labellings(labels + 1, stratified_folds(labels[0], 4, 0), 2, 4)


def test_known_area_under_the_curve_of_real_words() -> None:
    if not N400.is_file():
        pytest.skip("shared/data/n400 is not here")
    import mne

    epochs = mne.read_epochs(N400, verbose="error")
    y = (epochs.events[:, 2] == epochs.event_id["related"]).astype(np.int8)
    folds = stratified_folds(y, 5, 0)
    data = epochs.get_data(copy=False).transpose(2, 0, 1)
    found = cross_validate_lda(data, y[np.newaxis], folds, n_classes=2, shrinkage=0.1, decisions=True)
    held_out = [folds == fold for fold in range(5)]
    auc = np.array([np.mean([roc_auc_score(y[f], each[0, f]) for f in held_out]) for each in found[0]])
    assert round(auc.max(), 3) == 0.672
    np.testing.assert_allclose(epochs.times[auc.argmax()], 0.38)
    assert round(auc[epochs.times < 0].mean(), 3) == 0.493
