"""What every library must come to."""

from shortloop.frames.stages.frames_truth import FramesTruth
from shortloop.jobs.exax.method import exax_method

globals().update(exax_method(FramesTruth, __file__))
