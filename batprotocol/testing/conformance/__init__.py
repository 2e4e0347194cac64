"""Conformance: play Batsim against a decision component until it breaks a rule, and report the smallest example.

`check` is for pytest, `find` for other programs; both are in `_search`, which draws `_cases` and plays them. In
`_play`, the embedded Batsim meets the decision component. `_targets` connects to one in this process, `_programs` to
one that is a process. The `Report` counts how often each rule was in play; `junit`, `github` and `gitlab` write it for
CI servers. The rules of conformance, in `batprotocol.testing.rules`, add to those of the conversation. `conversations`
makes up conversations without a decision component. The package needs hypothesis (the extra `batprotocol[test]`).
"""

from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing

try:
    import hypothesis as _hypothesis  # noqa: F401  # all below need it
except ImportError as error:
    raise PackageMissing(
        f"batprotocol.testing.conformance needs the package hypothesis: {installing('test', 'hypothesis', 'pytest')}"
    ) from error

from batprotocol.testing.conformance._cases import STAGES, Case, cases
from batprotocol.testing.conformance._conversations import conversations
from batprotocol.testing.conformance._formats import github, gitlab, junit
from batprotocol.testing.conformance._play import Finding
from batprotocol.testing.conformance._programs import CannotRun, Command, Endpoint, Library
from batprotocol.testing.conformance._report import Group, Report
from batprotocol.testing.conformance._search import (
    DEFAULT_EXAMPLES,
    DEFAULT_TIMEOUT,
    MOST_SHOWN,
    NonConformance,
    check,
    find,
    save,
)
from batprotocol.testing.conformance._targets import InProcess, Target, encoded
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
