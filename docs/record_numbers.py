"""Run numbers.ipynb on the default study, and keep what its cells give: the pages show it and run nothing.

python docs/record_numbers.py FOLDER, of a project in which the default study was the last to run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

BOOK = Path(__file__).with_name("numbers.ipynb")


def main(folder: Path) -> None:
    """Run it there."""
    import nbclient
    import nbformat

    book = nbformat.read(BOOK, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(book, kernel_name="python3", resources=resources).execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # when it ran
        if cell.cell_type == "code":
            cell.outputs = [kept(each) for each in cell.outputs if each.get("name") != "stderr"]
    book.metadata = {"kernelspec": book.metadata["kernelspec"], "language_info": {"name": "python"}}
    nbformat.write(book, BOOK)


def kept(output: Any) -> Any:
    """An output without the page in itself that xarray makes of a dataset."""
    if output.get("data", {}).get("text/html", "").startswith("<div><svg"):
        del output.data["text/html"]
    return output


if __name__ == "__main__":
    main(Path(sys.argv[1]))
