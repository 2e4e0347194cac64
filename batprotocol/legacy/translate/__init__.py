"""Translation between the older protocols and today's, in both directions and for both sides. No I/O.

`ToOldScheduler` stands between today's Batsim and an older scheduler, `ToOldBatsim` between an older Batsim and a
decision component of today. Both put together are a way between any two versions. What cannot be carried is in their
`report`.
"""

from batprotocol.legacy.translate.batsim.translation import ToOldBatsim
from batprotocol.legacy.translate.report import Loss, Report
from batprotocol.legacy.translate.scheduler.memory import Options
from batprotocol.legacy.translate.scheduler.translation import ToOldScheduler

__all__ = ["Loss", "Options", "Report", "ToOldBatsim", "ToOldScheduler"]
