"""What the residuals of every group look like, in a few numbers."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.residuals import Residuals

globals().update(exax_method(Residuals, __file__))
