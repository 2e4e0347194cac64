"""Conformance: play Batsim against a decision component until it breaks a rule, and tell the smallest way to do so.

`check` is for pytest, `find` for other programs; both are in `checking`. The way through it: `cases` are drawn and
played by `searching`; in `playing`, the embedded Batsim meets the decision component, which is reached through a
`talks` or, as a process, `programs` and `hosting`; the `report` counts what was in play, and `exports` writes it for
CI servers. The `rules` of conformance add to those of the conversation. `improvising` makes up conversations without
a decision component. It needs hypothesis, a package of the extra `test`.
"""

from batprotocol.errors import PackageMissing
from batprotocol.extras import installing

try:
    import hypothesis as _hypothesis  # noqa: F401  # all below need it
except ImportError as error:
    raise PackageMissing(
        f"batprotocol.testing.conformance needs the package hypothesis: {installing('test', 'hypothesis', 'pytest')}"
    ) from error

from batprotocol.testing.conformance.cases import STAGES, Case, cases
from batprotocol.testing.conformance.checking import DEFAULT_TIMEOUT, MOST_SHOWN, NonConformance, check, find, save
from batprotocol.testing.conformance.exports import github, gitlab, junit
from batprotocol.testing.conformance.improvising import conversations
from batprotocol.testing.conformance.playing import Finding
from batprotocol.testing.conformance.programs import CannotRun, Command, Endpoint, Library
from batprotocol.testing.conformance.report import Group, Report
from batprotocol.testing.conformance.rules import ALL_RULES, CONFORMANCE_RULES, explained
from batprotocol.testing.conformance.searching import DEFAULT_EXAMPLES
from batprotocol.testing.conformance.talks import InProcess, Target, encoded

__all__ = [
    "ALL_RULES",
    "CONFORMANCE_RULES",
    "DEFAULT_EXAMPLES",
    "DEFAULT_TIMEOUT",
    "MOST_SHOWN",
    "STAGES",
    "CannotRun",
    "Case",
    "Command",
    "Endpoint",
    "Finding",
    "Group",
    "InProcess",
    "Library",
    "NonConformance",
    "Report",
    "Target",
    "cases",
    "check",
    "conversations",
    "encoded",
    "explained",
    "find",
    "github",
    "gitlab",
    "junit",
    "save",
]
