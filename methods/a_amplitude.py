"""Epochs to amplitude features: the low-passed signal in time bins."""

from shortloop.eeg.stages.amplitude import Amplitude
from shortloop.exax.method import exax_method

globals().update(exax_method(Amplitude, __file__))
