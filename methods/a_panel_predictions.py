"""Predictions of all blocks as one table, in the order of the file."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.predict import Predictions

globals().update(exax_method(Predictions, __file__))
