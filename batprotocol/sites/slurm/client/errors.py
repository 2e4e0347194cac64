"""The errors of Slurm and of the programs that reach it, each as one sentence."""

from __future__ import annotations

import re
from typing import Final

from batprotocol.errors import ProtocolError, printable

__all__ = ["SlurmAway", "SlurmError", "SlurmLimit", "SlurmRefusal", "error_of"]

LONGEST: Final = 500
"""How many characters of a message are kept."""


class SlurmError(ProtocolError):
    """A request has failed, or its answer cannot be read.

    Attributes:
        reason: the reason, as one sentence.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SlurmAway(SlurmError):
    """Nobody answers now: slurmctld, slurmrestd, or their host. The request may have been carried out."""


class SlurmRefusal(SlurmError):
    """Slurm refuses the request: it would refuse it again."""


class SlurmLimit(SlurmError):
    """A limit on the number of jobs is reached: Slurm may accept the request later."""


_AWAY: Final = re.compile(
    r"unable to contact slurm controller|connect failure|connection refused|socket timed out|zero bytes were|"
    r"timed? ?out|not responding|unexpected message rec|primary controller|communication (?:connection )?failure|"
    r"unable to connect|insane message|in standby mode|lost connection|no route to host|broken pipe|"
    r"connection (?:closed|reset)|could not resolve|host key verification|permission denied \(",
    re.I,
)
_LIMIT: Final = re.compile(
    r"job violates accounting/qos policy|maxsubmit|submit ?limit|temporarily unable to accept|"
    r"resource temporarily unavailable|too many",
    re.I,
)
_REFUSAL: Final = re.compile(
    r"invalid|not available|not (?:permitted|allowed)|than permitted|denied|can ?not be satisfied|too long|"
    r"unsupported|not supported|must specify",
    re.I,
)
_KINDS: Final = ((_AWAY, SlurmAway), (_LIMIT, SlurmLimit), (_REFUSAL, SlurmRefusal))


def error_of(printed: str, program: str) -> SlurmError:
    """The error that a program of Slurm has printed.

    >>> error_of("sbatch: error: Batch job submission failed: Invalid qos specification\\n", "sbatch")
    SlurmRefusal('sbatch: Batch job submission failed: Invalid qos specification')
    """
    lines = [line.strip() for line in printed[-20 * LONGEST :].splitlines() if line.strip()]
    line = lines[-1] if lines else "it failed and printed nothing"
    for prefix in (f"{program}: ", "fatal: ", "error: "):
        line = line.removeprefix(prefix)
    kind = next((kind for pattern, kind in _KINDS if pattern.search(printed)), SlurmError)
    return kind(f"{program}: {printable(line)[:LONGEST]}")
