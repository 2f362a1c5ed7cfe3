"""Entry point of ``python -m shortloop`` and of the command ``shortloop``."""

from __future__ import annotations

import os
import signal

__all__ = ["main"]


def main() -> None:
    """Entry point; one who presses Ctrl-C while it is still being imported sees no traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
    from shortloop.cli.entry import main as command
    from shortloop.cli.importing import set_path

    set_path()
    signal.signal(signal.SIGINT, before)
    command()


if __name__ == "__main__":
    main()
