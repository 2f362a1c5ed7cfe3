"""Compiled loops over groups: from columns of numbers to coefficients, without an object for each fit."""
