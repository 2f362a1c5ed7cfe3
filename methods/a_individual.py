"""Scores of one participant, tested alone, with intervals over trials."""

from shortloop.eeg.stages.individual import Individual
from shortloop.jobs.exax.method import exax_method

globals().update(exax_method(Individual, __file__))
