"""``python -m shortloop``."""

from shortloop.cli.main import main

main()
