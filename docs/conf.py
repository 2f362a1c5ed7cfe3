"""How `make docs` builds the pages: from the top of the repository, so that links between files hold."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the docstrings of this copy, not of an installed one

import shortloop  # noqa: E402

project = "Shortloop"
author = "The authors of Shortloop"
copyright = ""
version = release = shortloop.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "deploy/README.md",
    "docs/**.md",
    "docs/**.ipynb",
]
exclude_patterns = [
    ".*",
    "*.egg-info",
    "benchmarks",
    "build",
    "build_scripts",
    "data",
    "dev",
    "docs/_build",
    "docs/jupyter_execute",
    "methods",
    "results",
    "shortloop",
    "studies",
    "tests",
    "workdirs",
]

myst_heading_anchors = 4
nb_execution_mode = "off"  # cells keep what they gave: record_numbers.py
autodoc_typehints = "none"  # numpydoc's sections say them in words
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False

templates_path = ["_templates"]
html_sidebars = {"**": ["contents.html"]}
html_context = {"default_mode": "auto"}  # as light or dark as the reader asks
html_theme = "pydata_sphinx_theme"
html_title = f"Shortloop {release}"
html_static_path = ["_static"]
html_css_files = ["shortloop.css"]
html_extra_path = ["_extra"]  # leads from the top folder to the first page
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "logo": {"text": "Shortloop"},
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["sphinx-version"],
    "footer_end": [],
    "show_prev_next": True,
}


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", name_pages)
    app.connect("doctree-resolved", keep_units)


def name_pages(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Show titles where links show files, which are the names of pages in a folder but not on a site."""
    for link in tree.findall(nodes.reference):
        if re.fullmatch(r"[\w./-]+\.(md|ipynb)", link.astext()) and link.get("internal"):
            file = posixpath.join(posixpath.dirname(page), link["refuri"].partition("#")[0])
            title = app.env.titles.get(posixpath.normpath(file).removesuffix(".html"))
            if title is not None:
                link.children = [nodes.Text(title.astext())]


def keep_units(app: Sphinx, tree: nodes.document, page: str) -> None:
    """No line ends between a number and its unit, which narrow tables are full of."""
    for text in list(tree.findall(nodes.Text)):
        kept = re.sub(r"(?<=\d) (?=(?:ms|s|µs|min|[kMG]B|Hz)\b|%)", "\u00a0", text)
        if kept != text and not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(kept))
