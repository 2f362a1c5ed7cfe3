"""The panel: a row for each firm and year."""

from shortloop import File, stage


@stage
def panel(file: File):
    """Read the file once; whatever else needs it takes it from here."""
    import pandas as pd  # a heavy library is imported where it is used

    return {"rows": pd.read_parquet(file.path).sort_values(["firm", "year"])}
