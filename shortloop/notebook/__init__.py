"""Notebook functions as stages, built by a process beside the kernel."""

from shortloop.notebook.session import Session as Session
