"""Scores of all participants to statistics over participants."""

from shortloop.eeg.stages.group import Group
from shortloop.exax.method import exax_method

globals().update(exax_method(Group, __file__))
