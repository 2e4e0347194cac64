"""Jobs of a cluster, in the words of the tests."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import patience

from batprotocol.campaigns.managers import JobRequest, oar
from batprotocol.campaigns.model import RemoteJob

PATIENCE = 120.0
until = partial(patience.until, patience=PATIENCE, step=0.01)
ends = partial(patience.ends, patience=PATIENCE, step=0.01)


def described(path: Path, **members: object) -> str:
    """Write the description of a cluster."""
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in {"type": "oar", **members}.items()))
    return str(path)


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events if event.type in {*oar.CAUSES, "REFUSED"}]


def requests_of(*commands: str, first: int = 1, **more: Any) -> list[JobRequest]:
    return [
        JobRequest(job=number, command=command, campaign=1, **more) for number, command in enumerate(commands, first)
    ]
