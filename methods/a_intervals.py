"""Bootstrap intervals over trials of one participant's scores."""

from shortloop.eeg.stages.intervals import Intervals
from shortloop.exax.method import exax_method

globals().update(exax_method(Intervals, __file__))
