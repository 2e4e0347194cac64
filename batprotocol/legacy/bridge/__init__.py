"""The bridge: a Batsim of any version at one end, a scheduler of any version at the other, in turns until the end.

Each end (`NewBatsim`, the older ones, decision components) takes and gives values of the current protocol. If one side
fails, the bridge does not leave the other side waiting.
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
