"""Statistics to figures and a page."""

from shortloop.eeg.stages.report import Report
from shortloop.exax.method import exax_method

globals().update(exax_method(Report, __file__))
