"""The panel, a fit for each specification and firm, a table, a page: `shortloop run analysis`."""

from shortloop import Settings, pipeline


class Analysis(Settings):
    """What analysis.toml says."""

    panel: str
    specifications: dict[str, str]


@pipeline(settings="analysis.toml")
def main(run, settings: Analysis):
    panel = run.build("panel", file=run.file(settings.panel))
    given = settings.specifications.items()
    fits = [run.build("fit", partition=name, panel=panel, formula=formula) for name, formula in given]
    return run.build("page", table=run.build("table", fits=fits), fits=fits)
