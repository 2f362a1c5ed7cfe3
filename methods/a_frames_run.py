"""One library of data frames and one transformation, measured."""

from shortloop.frames.stages.frames_run import FramesRun
from shortloop.jobs.exax.method import exax_method

globals().update(exax_method(FramesRun, __file__))
