"""Epochs of one participant to means over the trials of each class."""

from shortloop.eeg.stages.evoked import Evoked
from shortloop.exax.method import exax_method

globals().update(exax_method(Evoked, __file__))
