"""Selection, classifiers, cross-validation, generalization, permutation."""
