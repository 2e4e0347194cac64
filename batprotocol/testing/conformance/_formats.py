"""A report in the formats of continuous integration: JUnit's XML, annotations of GitHub, GitLab's code quality.

Each function takes a report. It knows neither files nor the server that shows the result.
"""

from __future__ import annotations

import hashlib
import os
from xml.etree import ElementTree

import msgspec

from batprotocol.errors import printable
from batprotocol.testing.conformance._play import Finding
from batprotocol.testing.conformance._report import Report
from batprotocol.testing.conformance._search import NonConformance
from batprotocol.testing.rules import explained

_SUITE = "batproto conformance"


def junit(report: Report | str, name: str) -> bytes:
    """JUnit's XML, as CI servers read it: a test for each rule that can be broken.

    The test of a broken rule fails, with the smallest conversation. The tests of rules that never were in play are
    skipped: it means nothing that nobody broke these rules.

    Args:
        report: the report; or the reason why the decision component cannot run.
        name: the name of the decision component.
    """
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name=_text(f"{_SUITE}: {name}"))
    if isinstance(report, str):
        case = ElementTree.SubElement(suite, "testcase", classname=_SUITE, name="it can be run")
        ElementTree.SubElement(case, "error", message=_text(report))
        counted = {"tests": 1, "failures": 0, "errors": 1, "skipped": 0}
    else:
        counts = report.in_play()
        broken = report.finding.rule if report.finding is not None else ""
        rules = [*counts, *([] if broken in counts or not broken else [broken])]
        for rule in rules:
            case = ElementTree.SubElement(suite, "testcase", classname=f"{_SUITE}.{rule.partition('.')[0]}", name=rule)
            if report.finding is not None and rule == broken:
                failure = ElementTree.SubElement(case, "failure", type=rule, message=_text(_sentence(report.finding)))
                failure.text = _text(str(NonConformance(report)))
            elif not counts[rule]:
                ElementTree.SubElement(case, "skipped", message="never in play")
        ElementTree.SubElement(suite, "system-out").text = _text(str(report))
        skipped = sum(not counts[rule] for rule in rules if rule != broken)
        counted = {"tests": len(rules), "failures": int(bool(broken)), "errors": 0, "skipped": skipped}
        suite.set("time", f"{report.seconds:.3f}")
    for key, value in counted.items():
        suite.set(key, str(value))
    ElementTree.indent(suites)
    xml: bytes = ElementTree.tostring(suites, "utf-8", xml_declaration=True)
    return xml + b"\n"


def github(finding: Finding) -> str:
    """A line that GitHub Actions show as an error, at its place in the source if that is known.

    Args:
        finding: the finding.
    """
    place = {} if finding.place is None else {"file": _path(finding.place[0]), "line": str(finding.place[1])}
    properties = {**place, "title": f"{_SUITE}: {finding.rule}"}
    listed = ",".join(f"{key}={_escaped(value, '%:,')}" for key, value in properties.items())
    rule = explained(finding.rule)
    message = f"{_sentence(finding)}\n{rule.title}. {rule.explanation}"
    return f"::error {listed}::{_escaped(message, '%')}"


def gitlab(report: Report, name: str) -> bytes:
    """GitLab's report of code quality: a list in JSON, empty if nothing was found.

    Args:
        report: the report.
        name: the name of the decision component, which replaces an unknown place in the source.
    """
    issues = []
    if report.finding is not None:
        finding = report.finding
        path, line = finding.place or (name, 1)
        place = f"{_path(path)}:{finding.rule}"
        issues.append(
            {
                "description": _text(_sentence(finding)),
                "check_name": finding.rule,
                "fingerprint": hashlib.sha256(place.encode("utf-8", "backslashreplace")).hexdigest(),
                "severity": "critical" if finding.violation.severity != "warning" else "major",
                "location": {"path": _path(path), "lines": {"begin": line}},
            }
        )
    return msgspec.json.encode(issues) + b"\n"


def _sentence(finding: Finding) -> str:
    return str(finding.violation)


def _path(path: str) -> str:
    """The path relative to the working directory, as CI servers expect it; unchanged if it is outside."""
    relative = os.path.relpath(path)
    return printable(path if relative.startswith("..") else relative)


def _text(text: str) -> str:
    """The text without the characters that XML and terminals do not accept."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escaped(text: str, special: str) -> str:
    """The text as GitHub's workflow commands expect it: their line ends at a line break."""
    return "".join(f"%{ord(each):02X}" if each in special or each in "\r\n" else each for each in _text(text))
