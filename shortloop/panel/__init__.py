"""Regressions over groups: the same model fitted to every group of a panel."""
