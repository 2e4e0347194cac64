"""Translation between the older protocols and the current one, in both directions and for both sides. No I/O.

`ToOldScheduler` stands between the current Batsim and an older scheduler, `ToOldBatsim` between an older Batsim and a
current decision component. Together, they connect any two versions. Their `report` lists the information that they
lose.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.legacy.translate._values import Loss, TranslationReport
from batprotocol.legacy.translate.old_batsim import ToOldBatsim
from batprotocol.legacy.translate.old_scheduler import Options, ToOldScheduler

__all__ = ["Loss", "Options", "ToOldBatsim", "ToOldScheduler", "TranslationReport"]

__getattr__ = old_names(__name__, {"Report": "TranslationReport"})
