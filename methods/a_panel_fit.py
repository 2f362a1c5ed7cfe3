"""One specification and outcome in every group of a block."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.fit import Fit

globals().update(exax_method(Fit, __file__))
