"""Fits of all blocks to tables of one specification and outcome."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.results import Results

globals().update(exax_method(Results, __file__))
