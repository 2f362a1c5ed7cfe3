"""A regression for each firm."""

from shortloop import Job, stage


def firms(panel: Job):
    """The units: the name of each firm, and the rows that its fit reads."""
    return panel["rows"].groupby("firm")


@stage(units=firms)
def fit(rows, formula: str):
    """Least squares of one firm."""
    import statsmodels.formula.api as smf

    found = smf.ols(formula, rows).fit()
    return {"slope": found.params["capital"], "error": found.bse["capital"]}
