"""Formulas: columns of a panel to outcome and regressors."""
