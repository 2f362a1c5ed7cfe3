"""The table of all formats.

Stages import the one format that they need by its name, not this table, so that a new format rebuilds no job.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shortloop.eeg.formats.arrays import ArraysInput
from shortloop.eeg.formats.bids import BidsInput
from shortloop.eeg.formats.brainvision import BrainvisionInput
from shortloop.eeg.formats.csv import CsvInput
from shortloop.eeg.formats.edf import EdfInput
from shortloop.eeg.formats.eeglab import EeglabInput
from shortloop.eeg.formats.fieldtrip import FieldtripInput
from shortloop.eeg.formats.fif import FifInput
from shortloop.eeg.formats.mne import MneInput
from shortloop.eeg.formats.npz import NpzInput
from shortloop.eeg.formats.simulated import SimulatedInput
from shortloop.eeg.formats.table import TableInput
from shortloop.eeg.formats.thesis import ThesisInput
from shortloop.eeg.formats.xdf import XdfInput

AnyInput = Annotated[
    SimulatedInput
    | ThesisInput
    | ArraysInput
    | TableInput
    | EdfInput
    | BidsInput
    | BrainvisionInput
    | CsvInput
    | EeglabInput
    | FieldtripInput
    | FifInput
    | MneInput
    | NpzInput
    | XdfInput,
    Field(discriminator="format"),
]
