"""A dataset of exax to columns, with the rows of each group one after the other."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.imports import ImportDataset

globals().update(exax_method(ImportDataset, __file__))
