"""A newcomer's questions: the handbook answers each within three clicks, from its first page and from its search.

A click is a link that the reader follows, or the search that the reader starts. `pytest -s` prints the list.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from browser import Browser, Tab
from test_site import browser, settled, site, unwanted  # noqa: F401 (the fixtures)

WITHOUT_ENGINE = True
pytestmark = [pytest.mark.slow, pytest.mark.once]

HITS = 5
"""The answer is among the first so many hits, which a screen shows."""


class Question(NamedTuple):
    """A question, the links to click from the first page, and words of the answer on the last page."""

    text: str
    links: tuple[str, ...]
    page: str
    answer: str


QUESTIONS = (
    Question("install without a compiler", ("start", "Install"), "start/install", "works without a compiler"),
    Question("write a scheduler", ("start", "Write a scheduler"), "start/write-a-scheduler", "def decide(self)"),
    Question("run my scheduler on Batsim", ("start", "Run it on Batsim"), "start/run-on-batsim", "batproto run"),
    Question("find why Batsim aborted", ("debug a conversation",), "howto/debug-a-conversation", "rule"),
    Question("compare two policies", ("start", "Compare policies"), "start/compare-policies", "batproto study table"),
    Question("know what load means", ("glossary", "Load"), "howto/run-studies", "jobs arrive 1.2 times as fast"),
    Question("make a timeline", ("how to", "Keep captures of runs"), "howto/keep-captures", "batproto timeline"),
    Question("turn idle hosts off", ("how to", "Save energy"), "howto/save-energy", "off="),
    Question(
        "let jobs survive a host that fails",
        ("how to", "Survive failures"),
        "howto/survive-failures",
        "checkpoint=40min,1min",
    ),
    Question("kill a job", ("each event", "KillJobsEvent"), "reference/events/KillJobsEvent", "add_kill_jobs"),
    Question(
        "register a job from the scheduler",
        ("each event", "RegisterJobEvent"),
        "reference/events/RegisterJobEvent",
        "add_register_job",
    ),
    Question("test a scheduler in C++", ("test a scheduler",), "howto/test-a-scheduler", "#include"),
    Question("read a message", ("start", "Look at messages"), "start/look-at-messages", "batproto dump"),
    Question("use an older Batsim", ("how to", "Use older protocols"), "howto/use-older-protocols", "--protocol 4.2"),
    Question("run a campaign", ("how to", "Run campaigns"), "howto/run-campaigns", "batproto grid"),
    Question("learn with Gymnasium", ("how to", "Learn to schedule"), "howto/learn-to-schedule", "gymnasium"),
    Question("simulate a log", ("how to", "Simulate a log"), "howto/simulate-a-log", ".swf"),
    Question("add a metric", ("reference", "results and metrics"), "reference/metrics", "@metric"),
    Question("run a study on Dask", ("run studies",), "howto/run-studies", "--dask"),
    Question("get results with pandas or CSV", ("reference", "results and metrics"), "reference/metrics", "to_pandas"),
    Question("run inside Batsim without a socket", ("run inside Batsim",), "howto/run-inside-batsim", "--in-process"),
)


def clicked(tab: Tab, label: str) -> None:
    """Click the first link of the page's text with this label."""
    before = tab.run("location.href")
    links = "[...document.querySelectorAll('article a')]"
    found = (
        f"{links}.find(each => each.textContent.trim() === {label!r} || each.textContent.trim() === {f'{label}#'!r})"
    )
    assert tab.run(f"!!{found}"), f"{before} has no link {label!r}"
    tab.run(f"void setTimeout(() => {found}.click())")  # the answer comes before the page goes
    tab.wait(f"location.href !== {before!r} && document.readyState === 'complete'")


def rank(tab: Tab, root: Path, question: Question) -> int:
    """The place of the answer's page among the hits of the search, from 1 on, and 0 if it is not among the first."""
    settled(tab, (root / "index.html").resolve().as_uri())
    tab.run("document.querySelector('.sidebar-search').focus()")
    tab.type(f"How do I {question.text}?")
    tab.press("Enter")
    hits = "[...document.querySelectorAll('#search-results li a')].map(each => each.href)"
    pages = [hit.partition("#")[0] for hit in tab.wait(f"{hits}.length && {hits}")][:HITS]
    wanted = (root / f"{question.page}.html").resolve().as_uri()
    return pages.index(wanted) + 1 if wanted in pages else 0


def answers(tab: Tab, question: Question) -> bool:
    said = tab.run("document.querySelector('article').textContent")
    return question.page in tab.run("location.href") and question.answer in said


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_a_question_is_answered_within_three_clicks(
    site: Path,  # noqa: F811
    browser: Browser,  # noqa: F811
    question: Question,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(question.links) <= 3
    tab = browser.open(site / "index.html")
    tab.wait("document.readyState === 'complete'")
    for label in question.links:
        clicked(tab, label)
    assert answers(tab, question)
    place = rank(tab, site, question)
    with capsys.disabled():
        path = " > ".join(question.links)
        print(
            f"\nHow do I {question.text}?  [index: {len(question.links)} clicks: {path}; search: hit {place}]", end=" "
        )
    assert place, [tab.run("document.querySelector('#search-results').innerText")[:600]]
    tab.run(f"document.querySelectorAll('#search-results li a')[{place - 1}].click()")
    tab.wait(f"location.href.includes({question.page!r}) && document.readyState === 'complete'")
    assert answers(tab, question)
    assert unwanted(tab) == []
    tab.close()


def test_there_are_many_questions_and_each_once() -> None:
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS) >= 20
