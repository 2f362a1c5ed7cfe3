"""The page: one figure and the table."""

from shortloop import Job, stage


@stage
def page(table: Job, fits: list[Job]):
    """Both lie beside the page, in the folder of results."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes, slopes = figure.subplots(), {fit.partition: fit["slope"] for fit in fits}
    axes.boxplot([*slopes.values()], tick_labels=[*slopes], orientation="horizontal")
    axes.set_xlabel("invested per unit of capital")
    picture = "<img src='slopes.png' alt='slopes of each model' style='max-width: 100%'>"
    html = f"<h1>Slopes of firms</h1>{picture}{table['table'].round(3).to_html()}"
    return {"slopes": figure, "page.html": html}
