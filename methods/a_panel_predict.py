"""Predictions of a block's rows, or of new rows of its groups."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.predict import Predict

globals().update(exax_method(Predict, __file__))
