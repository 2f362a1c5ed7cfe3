"""Recordings of one participant to checked epochs of each phase."""

from shortloop.eeg.stages.import_epochs import ImportEpochs
from shortloop.exax.method import exax_method

globals().update(exax_method(ImportEpochs, __file__))
