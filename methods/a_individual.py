"""Scores of each participant, tested alone."""

from shortloop.eeg.stages.group import Individual
from shortloop.exax.method import exax_method

globals().update(exax_method(Individual, __file__))
