"""The specifications side by side."""

from shortloop import Job, stage


@stage
def table(fits: list[Job]):
    """A row for each specification: the slopes of its firms, summed up."""
    import pandas as pd

    return {"table": pd.DataFrame({fit.partition: fit.to_frame()["slope"].describe() for fit in fits}).T}
