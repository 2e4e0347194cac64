"""The accounts, users and qualities of service of a Slurm site, read from what sacctmgr prints."""

from batprotocol.sites.slurm.accounting.reading import accounting_of, read_accounting
from batprotocol.sites.slurm.accounting.values import Accounting, Association, Limits, Qos

__all__ = ["Accounting", "Association", "Limits", "Qos", "accounting_of", "read_accounting"]
