"""Conformance: play Batsim against a decision component until it breaks a rule, and report the smallest example.

`check` is for pytest, `find` for other programs; both are in `checking`. `searching` draws `cases` and plays them. In
`playing`, the embedded Batsim meets the decision component. `talks` connects to one in this process, `programs` and
`hosting` to one that is a process. The `report` counts how often each rule was in play, and `exports` writes it for CI
servers. The rules of conformance, in `batprotocol.testing.rules`, add to those of the conversation. `improvising` makes
up conversations without a decision component. The package needs hypothesis (the extra `batprotocol[test]`).
"""

from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing

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
from batprotocol.testing.conformance.searching import DEFAULT_EXAMPLES
from batprotocol.testing.conformance.talks import InProcess, Target, encoded
from batprotocol.testing.rules import ALL_RULES, CONFORMANCE_RULES, explained

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
