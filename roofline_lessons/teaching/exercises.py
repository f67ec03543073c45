"""The exercises of the lessons, by name. The data of each lie in the modules beside this one."""

from __future__ import annotations

from collections.abc import Mapping

from .exercise import Exercise
from .exercises_engines import ENGINES
from .exercises_fusion import FUSION
from .exercises_legality import LEGALITY
from .exercises_measure import MEASURE
from .exercises_networks import NETWORKS
from .exercises_roofline import ROOFLINE

#: Every exercise by its name.
EXERCISES: Mapping[str, Exercise] = {
    exercise.name: exercise for exercise in (*ROOFLINE, *MEASURE, *FUSION, *LEGALITY, *NETWORKS, *ENGINES)
}
