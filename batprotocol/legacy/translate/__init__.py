"""Translation between the older protocols and today's, in both directions and for both sides. No I/O.

`ToOldScheduler` stands between today's Batsim and an older scheduler, `ToOldBatsim` between an older Batsim and a
decision component of today. Both put together are a way between any two versions. What cannot be carried is in their
`report`.
"""

from batprotocol.legacy.translate.report import Loss, Report
from batprotocol.legacy.translate.to_batsim import ToOldBatsim
from batprotocol.legacy.translate.to_scheduler import Options, ToOldScheduler

__all__ = ["Loss", "Options", "Report", "ToOldBatsim", "ToOldScheduler"]
