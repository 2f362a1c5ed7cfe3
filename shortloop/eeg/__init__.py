"""EEG decoding: from recordings to statistics over participants, and a report."""
