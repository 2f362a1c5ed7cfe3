"""Activation patterns of one participant's classifiers, and the features that they kept."""

from shortloop.eeg.stages.patterns import Patterns
from shortloop.exax.method import exax_method

globals().update(exax_method(Patterns, __file__))
