"""The page: one figure and the table."""

from shortloop import Job, stage

HEAD = """<!doctype html><html lang=en><title>Slopes</title><meta name=viewport content='width=device-width'>
<style>* { color-scheme: light dark } img { max-width: 100% } td { text-align: end; padding: 5px }</style>"""


@stage
def page(table: Job, fits: list[Job]):
    """Both lie beside the page, in the folder of results."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(5, 3), layout="constrained").subplots()
    axes.boxplot([fit["slope"] for fit in fits], tick_labels=[fit.partition for fit in fits])
    axes.set_ylabel("invested per unit of capital")
    picture = "<main><h1>Slopes of firms</h1><img src='slopes.png' alt='slopes of each specification'>"
    rows = table["table"].T.rename_axis(columns="slopes").to_html(border=0, float_format="{:#.4g}".format)
    return {"slopes": axes.figure, "page.html": HEAD + picture + rows.replace(">-", ">−")}
