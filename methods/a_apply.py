"""Classifiers of every training bin on every bin of the decoded phase: temporal generalization."""

from shortloop.eeg.stages.apply import Apply
from shortloop.exax.method import exax_method

globals().update(exax_method(Apply, __file__))
