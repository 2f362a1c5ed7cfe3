"""Compiled loops over groups: from columns of numbers to coefficients, without an object for each fit.

Unless a function says otherwise, columns and their bases have the shape (p, n), for p regressors and n rows;
triangles and products of columns (p, p), of which the lower part is read and written; values of rows (n,);
coefficients (p,). Functions write to their last arguments, and to any called `work`.
"""
