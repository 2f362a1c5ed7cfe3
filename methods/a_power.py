"""Epochs to power features: Morlet wavelet power in time bins."""

from shortloop.eeg.stages.power import Power
from shortloop.exax.method import exax_method

globals().update(exax_method(Power, __file__))
