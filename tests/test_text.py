"""Text of others, made fit for a terminal and a page."""

from __future__ import annotations

import os
import sys

from shortloop.base.errors import InputError
from shortloop.base.text import one_line, printable

MARKS = [0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
UNFIT = [*range(0x20), *range(0x7F, 0xA0), *MARKS, 0xD800, 0xDC80, 0xDFFF]


def test_what_is_not_seen_is_made_visible() -> None:
    for code in UNFIT:
        shown = one_line(f"a{chr(code)}b")
        assert shown.isascii()
        assert shown.isprintable()
        assert shown.encode().decode("unicode_escape") == f"a{chr(code)}b"  # nothing is lost
        assert one_line(shown) == printable(shown) == shown
        assert printable(chr(code)) == (chr(code) if chr(code) in "\t\n" else one_line(chr(code)))


def test_what_is_seen_stays_as_it_is() -> None:
    for text in ("", "Cz", "µV × 10⁻⁶ …", "a\u00a0b", "東京 עברית", r"C:\x1b\new", "🙂"):
        assert one_line(text) == printable(text) == text


def test_every_character_there_is() -> None:
    """None that a terminal takes for an order comes through, and all that is shown can be printed."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    shown = one_line(everything)
    assert not set(map(chr, UNFIT)) & set(shown)
    shown.encode()
    assert len(printable(everything)) == len(shown) - 2  # newline and tab


def test_a_message_shows_names_in_one_line_and_texts_as_they_are() -> None:
    error = InputError(
        "channels \x1b]0;differ\x07",
        participant="S\n01",
        file=os.fsdecode(b"S01\xff.npz"),
        field="\u202echannels",
        found="\x1b[31mCz\nFz",
        expected={"\x9b": 1},
    )
    assert error.message.splitlines() == [
        r"channels \x1b]0;differ\x07",
        r"  participant:  S\n01",
        r"  file:         S01\udcff.npz",
        r"  field:        \u202echannels",
        r"  found:        \x1b[31mCz",
        "Fz",
        r"  expected:     {'\x9b': 1}",
    ]
    assert str(error) == error.message
    assert InputError(error.message).message == error.message
