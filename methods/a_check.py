"""Recordings compared with each other and with the settings of later stages."""

from shortloop.eeg.stages.check import CheckRecordings
from shortloop.exax.method import exax_method

globals().update(exax_method(CheckRecordings, __file__))
