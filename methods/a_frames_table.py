"""The table of a comparison of data frames, as Parquet files."""

from shortloop.frames.stages.frames_table import FramesTable
from shortloop.jobs.exax.method import exax_method

globals().update(exax_method(FramesTable, __file__))
