"""Predictions of all blocks in one table, in the file's order."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.predict import Predictions

globals().update(exax_method(Predictions, __file__))
