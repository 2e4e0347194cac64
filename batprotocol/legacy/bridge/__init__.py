"""The bridge: a Batsim of any version at one end, a scheduler of any version at the other, in turns until the end.

Each end speaks in values of today's protocol: `NewBatsim` and the older ones, and decision components. Whatever goes
wrong on one side, the other one is not left waiting.
"""

from batprotocol.legacy.bridge.age_ends import AgedBatsim, AgedScheduler
from batprotocol.legacy.bridge.driving import drive
from batprotocol.legacy.bridge.ends import Batsim, Component
from batprotocol.legacy.bridge.json_ends import NewBatsim, OldBatsim, OldScheduler
from batprotocol.legacy.bridge.text_ends import TextBatsim, TextScheduler

__all__ = [
    "AgedBatsim",
    "AgedScheduler",
    "Batsim",
    "Component",
    "NewBatsim",
    "OldBatsim",
    "OldScheduler",
    "TextBatsim",
    "TextScheduler",
    "drive",
]
