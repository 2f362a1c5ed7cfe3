"""Numbers of the rows of each group in the file."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.imports import RowNumbers

globals().update(exax_method(RowNumbers, __file__))
