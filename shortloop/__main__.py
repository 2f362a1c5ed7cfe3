"""Entry point of ``python -m shortloop`` and of the command ``shortloop``."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Run the command; Ctrl-C during its import prints no traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
    from shortloop.cli import entry

    entry.set_path()
    signal.signal(signal.SIGINT, before)
    entry.main()


if __name__ == "__main__":
    main()
