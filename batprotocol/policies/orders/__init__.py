"""Queue orders: `base` has the base class, `lasting`, `aging`, `multifactor` and `heft` have those of the field."""

from __future__ import annotations

from batprotocol.policies.orders.aging import WFP3, Aging, ExpansionFactor, Unicep
from batprotocol.policies.orders.base import Alike, Order, Ordered
from batprotocol.policies.orders.heft import HEFT
from batprotocol.policies.orders.lasting import F1, F2, F3, F4, FCFS, LAF, LCFS, LJF, SAF, SJF, Largest, Smallest
from batprotocol.policies.orders.multifactor import Multifactor

__all__ = [
    "F1",
    "F2",
    "F3",
    "F4",
    "FCFS",
    "HEFT",
    "LAF",
    "LCFS",
    "LJF",
    "SAF",
    "SJF",
    "WFP3",
    "Aging",
    "Alike",
    "ExpansionFactor",
    "Largest",
    "Multifactor",
    "Order",
    "Ordered",
    "Smallest",
    "Unicep",
]
