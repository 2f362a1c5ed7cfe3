"""Tables of all specifications to figures and a page."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.panel_report import PanelReport

globals().update(exax_method(PanelReport, __file__))
