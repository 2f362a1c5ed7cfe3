"""Tables for papers, and plots of coefficients by group."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.paper import Paper

globals().update(exax_method(Paper, __file__))
