"""Scores of one participant, and those of classifiers trained again on shuffled labels."""

from shortloop.eeg.stages.retrain import Retrain
from shortloop.exax.method import exax_method

globals().update(exax_method(Retrain, __file__))
