"""Groups that were chosen by name, once it is known that the panel has them."""

from shortloop.exax.method import exax_method
from shortloop.panel.stages.named_groups import NamedGroups

globals().update(exax_method(NamedGroups, __file__))
