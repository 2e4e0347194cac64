"""What is found, as CI servers read it: JUnit's XML, annotations of GitHub, GitLab's code quality."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from commands import Result, run_here
from support import ROOT

from batprotocol.testing import conformance
from batprotocol.testing.commands.conformance import conformance as command

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

AWKWARD = '''
from batprotocol.edc import Scheduler


class Refused(Scheduler):
    def on_job_submitted(self, event):
        self.reply.add_kill_jobs(["w0!never"])


class Dies(Scheduler):
    def on_job_submitted(self, event):
        raise LookupError("50%, a:b ]]> <&\\x00\\x1b[1m\\udcff\\n::error::second line")


class TooFew(Scheduler):
    """What is wrong is seen only later."""

    def on_job_submitted(self, event):
        if event.job.resource_request > 1:
            self.reply.add_execute_job(event.job_id, 0)
        else:
            self.reply.add_reject_job(event.job_id)
'''
LINES = AWKWARD.splitlines()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "edc.py").write_text(AWKWARD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(name: str) -> Result:
    files = ("--junit", "junit.xml", "--github", "--gitlab", "quality.json")
    return run_here("conformance", "-q", "--examples", "50", *files, name)


def read(path: Path) -> tuple[ElementTree.Element, dict[str, list[str]]]:
    """The suite, and its tests by their outcome; the numbers on top are seen to be right."""
    (suite,) = ElementTree.parse(path).getroot()
    outcomes: dict[str, list[str]] = {"passed": [], "failure": [], "error": [], "skipped": []}
    for case in suite.iter("testcase"):
        outcomes[case[0].tag if len(case) else "passed"].append(case.attrib["name"])
    counts = {key: int(suite.attrib[key]) for key in ("tests", "failures", "errors", "skipped")}
    wanted = [len(outcomes[name]) for name in ("failure", "error", "skipped")]
    assert list(counts.values()) == [sum(map(len, outcomes.values())), *wanted]
    return suite, outcomes


def annotation(out: str) -> tuple[dict[str, str], str]:
    """What GitHub makes of the one annotation that was printed."""
    (line,) = [line for line in out.splitlines() if line.startswith("::")]
    told = re.fullmatch(r"::error (.*?)::(.*)", line)
    assert told is not None, line

    def plain(text: str) -> str:
        return re.sub(r"%([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), text)

    return {key: plain(value) for key, _, value in (each.partition("=") for each in told[1].split(","))}, plain(told[2])


@pytest.mark.parametrize(
    ("name", "rule", "line"),
    [
        ("Refused", "job.unknown", "add_kill_jobs"),
        ("Dies", "edc.died", "raise LookupError"),
        ("TooFew", "job.host-number", "class TooFew"),
    ],
)
def test_all_formats_tell_of_the_finding_and_its_place(here: Path, name: str, rule: str, line: str) -> None:
    done = found(f"edc.py:{name}")
    assert done.status == 1, done
    number = 1 + next(index for index, text in enumerate(LINES) if line in text)

    suite, outcomes = read(here / "junit.xml")
    assert outcomes["failure"] == [rule]
    failure = suite.find(".//failure")
    assert failure is not None
    assert f"[{rule}]" in failure.attrib["message"]
    assert "The conversation:" in (failure.text or "")

    properties, message = annotation(done.out)
    assert properties == {"file": "edc.py", "line": str(number), "title": f"batproto conformance: {rule}"}
    assert message.startswith(failure.attrib["message"] + "\n")

    (issue,) = json.loads((here / "quality.json").read_text())
    assert issue["location"] == {"path": "edc.py", "lines": {"begin": number}}
    assert (issue["check_name"], issue["description"]) == (rule, failure.attrib["message"])


def test_nothing_found(here: Path) -> None:
    done = found(f"{ROOT}/examples/fcfs.py:FCFS")
    assert (done.status, done.out) == (0, "")
    suite, outcomes = read(here / "junit.xml")
    assert not outcomes["failure"]
    assert {"job.host-number", "frame.hello"} <= set(outcomes["passed"])
    assert "job.kill-state" in outcomes["skipped"], "it kills nothing, so this was never in play"
    assert "simulations" in (suite.findtext("system-out") or "")
    assert json.loads((here / "quality.json").read_text()) == []


def test_what_cannot_be_run_is_an_error(here: Path) -> None:
    done = run_here("conformance", "--junit", "junit.xml", "--", "./missing", "{endpoint}")
    assert done.status == 2
    assert read(here / "junit.xml")[1] == {"passed": [], "failure": [], "error": ["it can be run"], "skipped": []}


def test_where_nothing_can_be_written_nothing_is_tried(here: Path) -> None:
    done = run_here("conformance", "--junit", "missing/junit.xml", "edc.py:Refused")
    assert (done.status, done.out) == (2, "")
    assert "there is no folder 'missing'" in done.err


def test_a_program_has_no_place_in_the_source(here: Path) -> None:
    report = conformance.find(lambda: None, examples=1)  # type: ignore[arg-type,return-value]
    assert report.finding is not None
    finding = report.finding._replace(place=None)
    report.finding = finding
    assert annotation(conformance.github(finding))[0] == {"title": f"batproto conformance: {finding.rule}"}
    (issue,) = json.loads(conformance.gitlab(report, "./edc"))
    assert issue["location"] == {"path": "edc", "lines": {"begin": 1}}


def test_the_recipes_are_yaml_with_commands_that_are_understood() -> None:
    recipes = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "howto" / "test-a-scheduler.md").read_text(), re.DOTALL)
    github, gitlab = map(yaml.safe_load, recipes)
    lines = [step.get("run", "") for step in github["jobs"]["conformance"]["steps"]] + gitlab["conformance"]["script"]
    given = [shlex.split(line)[2:] for line in lines if line.startswith("batproto conformance ")]
    assert len(given) == 2
    for arguments in given:
        options = command.make_context("conformance", arguments).params
        assert options["junit_file"] == gitlab["conformance"]["artifacts"]["reports"]["junit"]
        assert options["save"] == "found"
