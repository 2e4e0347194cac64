"""The accounting of PBS Pro, OpenPBS and Torque: `records` divides their lines, `reading` makes jobs of them."""

from __future__ import annotations

from batprotocol.history.pbs.reading import read_pbs

__all__ = ["read_pbs"]
