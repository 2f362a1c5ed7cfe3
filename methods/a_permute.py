"""Scores of one participant, and the same predictions scored under shuffled labels."""

from shortloop.eeg.stages.permute import Permute
from shortloop.exax.method import exax_method

globals().update(exax_method(Permute, __file__))
