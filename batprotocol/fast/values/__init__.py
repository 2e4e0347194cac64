"""The values of FaST: a class for each message (`tasks`, `results`, `agent`, `others`) and for each part of one.

They are immutable, comparable, and made without checks; what the wire cannot carry, writing refuses.
"""

from typing import TYPE_CHECKING

from batprotocol.fast.values.agent import *
from batprotocol.fast.values.base import FastMessage as FastMessage
from batprotocol.fast.values.base import Part as Part
from batprotocol.fast.values.others import *
from batprotocol.fast.values.results import *
from batprotocol.fast.values.tasks import *

if not TYPE_CHECKING:  # type checkers export what is imported with `*`, and mypy cannot read such an `__all__`
    from batprotocol.fast.values import agent, others, results, tasks

    __all__ = ["FastMessage", "Part", *agent.__all__, *others.__all__, *results.__all__, *tasks.__all__]
