"""The old name of `batprotocol.policies.allocations`. It works for one version more."""

from __future__ import annotations

import warnings

from batprotocol.policies.allocations import *  # noqa: F403
from batprotocol.policies.allocations import Allocation as Place  # noqa: F401

warnings.warn(
    "batprotocol.policies.places is deprecated: use batprotocol.policies.allocations instead",
    DeprecationWarning,
    stacklevel=2,
)
