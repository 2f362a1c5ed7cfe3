"""Fitted estimators of every group, kept as objects."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.models import Models

globals().update(exax_method(Models, __file__))
