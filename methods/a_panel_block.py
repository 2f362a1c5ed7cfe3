"""Some groups of a panel: what their fits depend on."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.block import Block

globals().update(exax_method(Block, __file__))
