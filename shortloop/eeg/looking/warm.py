"""What all readers of recordings share, loaded once, before processes are forked that read one each."""

from __future__ import annotations

from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.formats.signals import SignalInput

__all__ = ["warm_up"]


def warm_up(settings: InputSettings) -> None:
    """Load what reading takes, with the compiled code that MNE loads with the first recording.

    Parameters
    ----------
    settings : InputSettings
        The format.
    """
    settings.warm_up()
    if isinstance(settings, SignalInput):
        import mne
        import numpy as np

        # The times of a recording come from compiled code, which takes longer to load than a recording.
        assert len(mne.io.RawArray(np.zeros((1, 2)), mne.create_info(1, 1.0), verbose="ERROR").times) == 2
