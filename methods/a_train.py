"""Features of the training phase to classifiers of every bin and fold, and cross-validated predictions."""

from shortloop.eeg.stages.train import Train
from shortloop.exax.method import exax_method

globals().update(exax_method(Train, __file__))
