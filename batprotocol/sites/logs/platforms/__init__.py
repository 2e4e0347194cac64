"""The platform of a site: as its resource manager describes its nodes, or the smallest one that its log fits on.

`reading` selects a reader by the content of a file: `slurm` reads `scontrol show node` (also `--json`), `slurm_conf`
reads slurm.conf, and `pbs` reads `pbsnodes -F json`. `smallest` makes a machine of a log. All make `SiteHost` values
(`hosts`), which are written as the lines of `described_platform`.
"""

from __future__ import annotations

from batprotocol.sites.logs.platforms.hosts import MOST_HOSTS, SiteHost, platform_lines
from batprotocol.sites.logs.platforms.reading import read_hosts
from batprotocol.sites.logs.platforms.smallest import smallest_hosts

__all__ = ["MOST_HOSTS", "SiteHost", "platform_lines", "read_hosts", "smallest_hosts"]
