"""In development: one more specification, before it goes into analysis.toml: `shortloop run once`."""

from shortloop import pipeline


@pipeline
def main(run):
    # As in the analysis, so it is there already.
    panel = run.build("panel", file=run.file("data/panel.parquet"))
    fit = run.build("fit", partition="square", panel=panel, formula="investment ~ capital + I(value**2)")
    return run.build("table", fits=[fit])
