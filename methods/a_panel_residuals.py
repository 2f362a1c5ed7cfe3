"""Summary numbers of the residuals of every group."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.residuals import Residuals

globals().update(exax_method(Residuals, __file__))
