"""The messages to pscom, the layer below MPI, and from it, and the messages of applications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from batprotocol.fast.values.base import FastMessage
from batprotocol.model.value import OptionalTupleOf, tuples_into

__all__ = [
    "ALLOWED",
    "ANY_PROCESS",
    "COMPLETED",
    "RESUME",
    "SUSPEND",
    "ApplicationKPIs",
    "ApplicationStatus",
    "PscomRequest",
    "PscomResponse",
]

SUSPEND: Final = "suspend"
"""The `task` of a `PscomRequest` before a migration."""
RESUME: Final = "resume"
"""The `task` of a `PscomRequest` after a migration."""
ALLOWED: Final = "ALLOWED"
"""The `state` of a `PscomResponse` to a suspension."""
COMPLETED: Final = "COMPLETED"
"""The `state` of a `PscomResponse` when all connections are open again."""
ANY_PROCESS: Final = "any_proc"
"""The name of the process in the topic of a request to all processes of a machine."""


class PscomRequest(FastMessage, frozen=True):
    """Close your connections, or open them again: before and after a migration.

    Args:
        task: `suspend` or `resume`; pscom also takes `*`, the empty text or a list of processes.
    """

    task: str


class PscomResponse(FastMessage, frozen=True):
    """A process has closed or opened its connections. Any text counts as an answer.

    Args:
        state: `ALLOWED` or `COMPLETED`.
        process: the number of the process, None if the message has none.
    """

    state: str
    process: int | None = None


class ApplicationStatus(FastMessage, frozen=True):
    """`status`: the migration and the indicators that an application supports. It is in the specification only.

    Args:
        source: the application, as Slurm's job id.
        migration: whether it can be migrated; the default is true.
        supported_kpi: the indicators that it will report.
    """

    source: str
    migration: bool | None = None
    supported_kpi: OptionalTupleOf[str] = None  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        tuples_into(self, "supported_kpi")


class ApplicationKPIs(FastMessage, frozen=True):
    """`KPIs`: the progress of an application. It is in the specification only.

    Args:
        source: the application, as Slurm's job id.
        supported_kpi: the indicators and their values.
    """

    source: str
    supported_kpi: Mapping[str, str]
