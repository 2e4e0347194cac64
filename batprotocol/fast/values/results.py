"""The answers of the migration framework of a node: one result for each task, on `fast/migfra/<hostname>/result`."""

from __future__ import annotations

from collections.abc import Mapping

from batprotocol.fast.values.base import FastMessage, Part, none_of
from batprotocol.model.value import TupleOf, tuples_into

__all__ = ["ERROR", "SUCCESS", "UNKNOWN", "Result", "VMResult"]

SUCCESS = "success"
"""The `status` of a machine with which the task succeeded."""
ERROR = "error"
"""The `status` of a machine with which the task failed."""
UNKNOWN = "unknown"
"""The `result` of a payload that is not a task, and the name of the machine in it."""


class VMResult(Part, frozen=True):
    """The result of one machine.

    Args:
        vm_name: the machine; for a task with a regular expression, that expression.
        status: `success` or `error`. Any text can be read.
        details: the reason of an error. The empty text is None.
        time_measurement: durations, in seconds with six decimals, by their tags (`overall`, `migrate`); a text if a
            duration has another form.
        process_id: the process of the machine, in the specification; no program writes or reads it.
    """

    vm_name: str
    status: str = SUCCESS
    details: str | None = None
    time_measurement: Mapping[str, float | str] | None = None
    process_id: str | None = None

    def __post_init__(self) -> None:
        none_of(self, "details", "")

    @property
    def is_success(self) -> bool:
        """Whether the task succeeded with this machine."""
        return self.status == SUCCESS


class Result(FastMessage, frozen=True):
    """The result of a task.

    Args:
        result: the completed task: `vm started`, `vm stopped`, `vm suspended`, `vm resumed`, `vm repinned`,
            `vm migrated`, `node evacuated`, `quit`; or `unknown` for a payload that is not a task. Any text is read.
        list: the result of each machine, in the order of the task. `vm migrated` has one entry, in the message itself.
        id: the `id` of the task. The empty text is None.
        scheduler: the receiver, in the specification: a host name or `global`; no program writes or reads it.

    >>> Result("vm stopped", [VMResult("vm1")], id="7").is_success
    True
    """

    result: str
    list: TupleOf[VMResult] = ()  # type: ignore[assignment]  # a descriptor
    id: str | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        tuples_into(self, "list")
        none_of(self, "id", "")

    @property
    def is_success(self) -> bool:
        """Whether the task succeeded with every machine."""
        return all(entry.status == SUCCESS for entry in self.list) and self.result != UNKNOWN
