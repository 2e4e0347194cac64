"""What protocols share: catalogues of rules, and the command's table, which must work with a second row as with one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest

from batprotocol._util.rules import BrokenRule, Catalogue, Rule, RuleRow
from batprotocol.cli.terminal import Output, Piece
from batprotocol.conversation import CATALOGUE, RULES
from batprotocol.conversation import Violation as Todays
from batprotocol.edc.recording.names import MessagePlace
from batprotocol.fast.conversation import CATALOGUE as FAST
from batprotocol.legacy.conversation import CATALOGUE as OLD
from batprotocol.schemas.commands import reference as rules
from batprotocol.wire.commands import check, dump, protocols
from batprotocol.wire.commands.protocols import MessageProtocol, Reading
from batprotocol.wire.commands.selection import Selection

WITHOUT_ENGINE = True
ROWS = (
    RuleRow("turn.order", ("warning", "error"), "Spoken out of turn", "Answer each letter once."),
    RuleRow("letter.empty", ("error", "off"), "An empty letter", "Write something."),
    RuleRow("letter.long", ("off", "deadlock"), "A long letter", "Write less."),
)
LETTERS = Catalogue(("written", "lived"), ROWS)


class Mistake(BrokenRule, frozen=True):
    """A violation of another protocol."""

    RULES: ClassVar[Mapping[str, Rule]] = LETTERS.rules


class Judge:
    """Finds the second letter wrong."""

    def __init__(self, rule_set: str) -> None:
        self.severities = CATALOGUE.severities(rule_set or CATALOGUE.default)
        self.letters = 0

    def feed(self, said: bytes, /) -> Sequence[BrokenRule]:
        self.letters += 1
        wrong = self.letters == 2
        return [Mistake(1, "", "turn.order", "error", f"{said.decode()} comes too early")] if wrong else []


def letter(data: bytes, kind: str, strict: bool, place: MessagePlace) -> Reading:
    return Reading(POST, kind, text=data.decode())


POST = MessageProtocol(
    "Post",
    lambda data: "letter" if data.startswith(b"Dear") else None,
    letter,
    lambda reading: (reading.kind, "e2b"),
    lambda: LETTERS,
    Judge,
    lambda reading, to, indent: (reading.text or "").encode(),
)


@pytest.fixture
def post(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second protocol."""
    known = (protocols.ProtocolRow(re.compile(b"Dear"), lambda: POST), *protocols.rows())
    monkeypatch.setattr(protocols, "rows", lambda: known)


def text(lines: Sequence[Sequence[Piece]]) -> list[str]:
    return ["".join(piece for _, piece in line) for line in lines]


def test_a_catalogue_gives_its_rule_sets() -> None:
    assert LETTERS.default == "lived"
    assert LETTERS.severities("written") == {"turn.order": "warning", "letter.empty": "error"}
    assert LETTERS.severities("lived") == {"turn.order": "error", "letter.long": "deadlock"}
    assert [rule.severity for rule in LETTERS.rules.values()] == ["error", "error", "deadlock"]
    with pytest.raises(ValueError, match=r"^there is no rule set 'dreamt', only 'written', 'lived'$"):
        LETTERS.severities("dreamt")


@pytest.mark.parametrize("severities", [("error",), ("error", "error", "error")])
def test_a_row_has_a_severity_for_each_rule_set(severities: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="argument 2"):
        Catalogue(("written", "lived"), [RuleRow("turn.order", severities, "", "")])  # type: ignore[arg-type]


def test_each_protocol_explains_its_own_violations() -> None:
    found = Mistake(1, "", "turn.order", "error", "too early"), Todays(1, "", "turn.order", "error", "too early")
    assert [violation.explained for violation in found] == [LETTERS.rules["turn.order"], RULES["turn.order"]]
    assert len({str(violation) for violation in found}) == 1
    assert all(violation.is_fatal for violation in found)


def test_the_last_protocol_takes_whatever_comes() -> None:
    for data in (b"", b"{}", b"Dear", b"\0" * 100):
        assert protocols.protocol_of(data)[0] is protocols.rows()[-1].load()


@pytest.mark.usefixtures("post")
def test_dump_and_check_ask_whose_bytes_they_are(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(2):
        (tmp_path / f"{number:05}-e2b.bin").write_text(f"Dear Batsim {number}")
    dump.dump([str(tmp_path)], Output(), Selection(), "tree", full=False)
    first = str(tmp_path / "00000-e2b.bin")
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"{first}: letter, EDC to Batsim, 13 bytes",
        '└── text: "Dear Batsim 0"',
    ]
    output = Output()
    check.check([str(tmp_path)], output, rules="", quiet=True)
    assert output.failed
    said = f"{tmp_path / '00001-e2b.bin'}: error: Dear Batsim 1 comes too early [turn.order]"
    assert capsys.readouterr().out.splitlines() == [said]


@pytest.mark.usefixtures("post")
def test_rules_lists_every_catalogue() -> None:
    catalogues = protocols.catalogues()
    assert list(catalogues) == ["Batsim 5", "Post", "Batsim 1 to 4", "FaST"]
    assert rules.ids(catalogues) == tuple(dict.fromkeys([*RULES, *LETTERS.rules, *OLD.rules, *FAST.rules]))
    lines = text(list(rules.rules_overview(catalogues)))
    assert lines[0] == "Batsim 5"
    second = 2 + len(RULES)
    assert lines[second : second + 3] == [
        "Post",
        "rule          written   lived     problem",
        "turn.order    warning   error     Spoken out of turn",
    ]
    assert lines[second + 5] == "Batsim 1 to 4"
    assert len(lines) == 8 + len(LETTERS.rules) + len(RULES) + len(OLD.rules) + len(FAST.rules)
    explained = text(list(rules.explain("turn.order", catalogues, None)))
    assert explained[:2] == ["Batsim 5", f"turn.order: {RULES['turn.order'].title}"]
    assert explained[-5:] == [
        "Post",
        "turn.order: Spoken out of turn",
        "  Answer each letter once.",
        "  written: warning",
        "  lived: error",
    ]
    assert text(list(rules.explain("letter.long", catalogues, None)))[0] == "letter.long: A long letter"
