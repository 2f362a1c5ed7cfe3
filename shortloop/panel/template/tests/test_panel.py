"""The panel file can be read, and says what it is meant to."""

from shortloop.panel.pipeline import read_panel


def test_the_panel_can_be_read():
    panel = read_panel("panel.toml")
    assert panel.groups.by
    assert panel.models
