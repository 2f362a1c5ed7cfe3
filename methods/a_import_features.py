"""Features of one participant that were computed elsewhere, checked."""

from shortloop.eeg.stages.import_features import ImportFeatures
from shortloop.exax.method import exax_method

globals().update(exax_method(ImportFeatures, __file__))
