"""A file of rows to columns, with the rows of each group one after the other."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.imports import ImportPanel

globals().update(exax_method(ImportPanel, __file__))
