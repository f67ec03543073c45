"""What each kind of operator costs: the shape it makes, its MACs, its other FLOPs, the elements it touches.

A kind is one entry of `OPERATORS` (`kinds.py`): a family (for the picture) and a rule from inputs and attributes to the
output shapes (`shapes.py`) and the `Work` (`costs.py`). A new kind is added by adding an entry. Conventions
(1 MAC = 2 FLOP):

* MACs are those of convolutions and matrix products, padding taps counted, bias not.
* All other arithmetic is a count per element from `FLOP_PER_ELEMENT` (`flops.py`), so it can be seen and argued about.
* Each distinct input is read once and each output written once, unless the kind says otherwise.
"""

from .flops import FLOP_PER_ELEMENT
from .kinds import FAMILIES, OPERATORS, OperatorKind, family, is_elementwise, make_operator

__all__ = ["FAMILIES", "FLOP_PER_ELEMENT", "OPERATORS", "OperatorKind", "family", "is_elementwise", "make_operator"]
