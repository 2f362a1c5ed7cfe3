"""Measurements of all libraries to a table, figures and a page."""

from shortloop.frames.stages.frames_report import FramesReport
from shortloop.jobs.exax.method import exax_method

globals().update(exax_method(FramesReport, __file__))
