"""The linter of prose finds each wording of the vocabulary, at its place, and skips code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.append(str(ROOT / "tools"))

pytest.importorskip("proselint", reason="there is no proselint here (pip install proselint)")

import prose
from wording.checks import VOCABULARY
from wording.extracting import compact, of_markdown, of_python

WITHOUT_ENGINE = True

FOUND = {
    "tell": "The page tells the time.",
    "of-noun": "It prints what became of the job.",
    "is-no": "This is no policy.",
    "whoever": "Whoever runs it waits.",
    "hang-on": "The numbers hang on settings.",
    "same": "Both come to the same.",
    "room": "Each room has its tests.",
    "floor": "It imports from lower floors.",
    "house": "These are the rules of the house.",
    "ready": "There are ready schedulers.",
    "choice": "A policy has a choice of hosts.",
    "badness": "The badness of estimates is 5.",
    "worth": "The agent learns what it is worth.",
    "seen": "It returns what is seen.",
    "manieth": "It prints how manieth it is.",
    "so-many": "It stops after so many steps.",
    "what-subject": "It is simple. What is missing is 0.",
    "for-want": "It is skipped for want of a program.",
    "be-it": "A type, be it imported or not, is shown.",
    "of-then": "The packages of then are needed.",
    "business": "That is its own business.",
    "thereof": "The rest thereof is ignored.",
    "peculiar": "It is peculiar to Linux.",
    "by-themselves": "They end by themselves.",
    "save-for": "It keeps all but the last.",
}
"""A sentence for each wording."""

RIGHT = (
    "There is no job.",
    "A job that is no longer in the queue has ended.",
    "What is a run? The glossary defines it.",
    "The command prints the time. The scheduler depends on it.",
)


def checks(text: str) -> list[str]:
    return [finding.check.removeprefix("batprotocol.") for finding in prose.findings_in("name", text)]


def test_each_wording_has_a_sentence() -> None:
    assert FOUND.keys() == {word.name for word in VOCABULARY}


@pytest.mark.parametrize("name", FOUND)
def test_each_wording_is_found(name: str) -> None:
    assert name in checks(of_markdown(f"# Title\n\nSome text.\n\n{FOUND[name]}\n"))
    assert name in checks(of_python(f'"""A module."""\n\n\ndef work():\n    """Work.\n\n    {FOUND[name]}\n    """\n'))


@pytest.mark.parametrize("sentence", RIGHT)
def test_plain_sentences_pass(sentence: str) -> None:
    assert checks(of_markdown(f"{sentence}\n")) == []


def test_checks_of_proselint_run() -> None:
    assert "lexical_illusions" in checks("This is is doubled.\n")


def test_a_sentence_has_40_words_at_most() -> None:
    words = [f"{first}{second}" for first in "bcdfg" for second in ("at", "et", "it", "ot", "ut", "al", "el", "il")]
    assert checks(f"{' '.join(words)}.\n") == []
    assert checks(f"{' '.join(words)} more.\n") == ["long-sentence"]


@pytest.mark.parametrize(
    "page",
    [
        "A page.\n\n```python\n# It tells the time.\n```\n",
        "The field `told` and ``tell it`` are names.\n",
        "A [link](what-it-tells.md), and <!-- it tells -->.\n",
        "    \n:::{note}\nIt tells.\n:::\n",
    ],
)
def test_code_in_pages_is_skipped(page: str) -> None:
    assert checks(of_markdown(page)) == []


@pytest.mark.parametrize(
    "source",
    [
        "told = tell(left, 'tell')  # it tells the time\n",
        '"""Text.\n\n>>> print("it tells the time")\nit tells the time\n"""\n',
        '"""Text:\n\n        it tells the time\n\nMore text.\n"""\n',
        'x = f"it is {told} of {tell(a)} in all, and {what:>{is_told}} more"\n',
        "x = f'the name of {told!r} is short'\n",
        '# The word "it tells" is in a comment, and it\'s not closed\nx = 1\n',
        'x = "\\" it" # tells this is not a text\n',
    ],
)
def test_code_in_modules_is_skipped(source: str) -> None:
    assert checks(of_python(source)) == []


@pytest.mark.parametrize(
    "source",
    [
        'raise ValueError(f"it tells the time of {it}")\n',
        "x = r'it tells the time'\n",
        "'''It tells the time.'''\n",
        '# It\'s "odd"\nx = "it tells the time"\n',
        'x = "one \\" quote" + "it tells the time"\n',
    ],
)
def test_texts_in_modules_are_read(source: str) -> None:
    assert checks(of_python(source)) == ["tell"]


def test_a_finding_has_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = '"""A module."""\n\n\nclass Thing:\n    """A thing.\n\n    Short,   and it tells the time.\n    """\n'
    (finding,) = prose.findings_in("thing.py", of_python(source))
    assert (finding.line, finding.column) == (7, 21)
    assert source.splitlines()[6][20:].startswith("tells")
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nText.\n\nWhat is missing is 0, and is told.\n")
    assert prose.main([str(page)]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert ":5:1: batprotocol.what-subject: 'What': write instead: " in first
    assert ":5:30: batprotocol.tell: 'told': write instead: " in second
    page.write_text("# Title\n\nText.\n")
    assert prose.main([str(page)]) == 0


def test_places_survive_shortening() -> None:
    text = "One   two\n\n   \n\nthree\n    four  five"
    short = compact(text)
    assert short.text == "One two\n\nthree\n four five"
    for word in text.split():
        assert text.startswith(word, short.before(short.text.index(word)))
