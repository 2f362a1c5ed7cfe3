"""Features of all trials to features of as many trials of each class."""

from shortloop.eeg.stages.subsample import Subsample
from shortloop.exax.method import exax_method

globals().update(exax_method(Subsample, __file__))
