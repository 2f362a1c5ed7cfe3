"""A page of plots for each group to be looked at."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.diagnostics import Diagnostics

globals().update(exax_method(Diagnostics, __file__))
