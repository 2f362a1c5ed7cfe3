"""The ``shortloop`` command: a thin layer over the frame."""
