"""Translation between the older protocols and the current one, in both directions and for both sides. No I/O.

`ToOldScheduler` stands between the current Batsim and an older scheduler, `ToOldBatsim` between an older Batsim and a
current decision component. Together, they connect any two versions. Their `report` lists the information that they
lose.
"""

from batprotocol.legacy.translate.batsim.translation import ToOldBatsim
from batprotocol.legacy.translate.report import Loss, Report
from batprotocol.legacy.translate.scheduler.memory import Options
from batprotocol.legacy.translate.scheduler.translation import ToOldScheduler

__all__ = ["Loss", "Options", "Report", "ToOldBatsim", "ToOldScheduler"]
