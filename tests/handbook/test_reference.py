"""What is generated of the reference is complete, and each thing is told at one place."""

from __future__ import annotations

import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Callable

import pytest
from stories import DOCS
from support import ROOT

sys.path.append(str(ROOT / "tools"))
pytest.importorskip("sphinx", reason="there is no sphinx here (pip install 'batprotocol[docs]')")

from handbook import api, catalogues, commands, events, fast, older, rules, signatures
from handbook.markdown import definitions, prose
from handbook.pages import completed

import batprotocol
from batprotocol import MessageBuilder
from batprotocol.policies.names import PARTS
from batprotocol.simulator import METRICS, Metrics
from batprotocol.studies import KEYS
from batprotocol.workloads.names import FILE_WORDS, MODEL_WORDS

WITHOUT_ENGINE = True


def page(name: str) -> str:
    """A page with what is generated in it."""
    return completed(name, (DOCS / f"{name}.md").read_text(encoding="utf-8"))


def targets(name: str) -> Counter[str]:
    return Counter(re.findall(r"^\((.+)\)=$", page(name), re.MULTILINE))


@pytest.mark.parametrize("kind", rules.KINDS)
def test_every_rule_is_on_its_page_once(kind: str) -> None:
    name, _, having = rules.KINDS[kind]
    found = targets(name)
    wrong = {id: found[rules.anchor(kind, id)] for id in having if found[rules.anchor(kind, id)] != 1}
    assert not wrong, f"docs/{name}.md has a marker `generated: rules {kind} TOPIC...` for each topic, once"


def test_a_rule_tells_how_bad_it_is_and_where() -> None:
    told = rules.rules("", "today job")
    assert "### `job.kill-again`" in told
    assert "Warning in `protocol`; error in `batsim-5.0.0-rc2`. About `KillJobsEvent`.\n" in told
    assert " About all events of Batsim.\n" in rules.rules("", "today time")
    assert rules.names()["job.unknown"] == ("reference/rules", "rule-job-unknown")


def test_every_command_is_on_one_page() -> None:
    missing = commands.all_commands().keys() - commands.names().keys()
    assert not missing, f"a page of docs/reference/commands has `generated: command NAME` for {missing}"
    for name, (where, anchor) in commands.names().items():
        if anchor:
            assert targets(where)[anchor] == 1, name


def test_commands_with_arguments_lead_to_the_command() -> None:
    assert commands.place("batproto study run study.toml -j 2") == ("reference/commands/study", "batproto-study-run")
    assert commands.place("batproto") is commands.place("batproto --help") is commands.place("cat batproto") is None


def test_a_command_is_told_with_all_its_options() -> None:
    told = commands.command("", "at")
    assert "batproto at [OPTIONS] RUN SECONDS" in told
    assert "`--json`\n: Print JSON." in told
    assert "Examples:\n\n```text\nbatproto at run.tar.xz 3600\n" in told


@pytest.mark.parametrize(
    ("name", "things"),
    [
        ("reference/policies", [part.name for part in PARTS.values()]),
        ("reference/metrics", list(METRICS)),
        ("reference/workloads", [*FILE_WORDS, *MODEL_WORDS]),
        ("reference/studies", list(KEYS)),
    ],
)
def test_what_has_a_name_is_on_its_page(name: str, things: list[str]) -> None:
    generated = page(name)
    missing = [each for each in things if not re.search(rf"`{each}[`=]", generated)]
    assert not missing, f"docs/{name}.md has no `generated:` marker for {missing}"


def test_metrics_lead_to_their_headings() -> None:
    found = targets("reference/metrics")
    assert all(found[anchor] == 1 for _, anchor in catalogues.metric_names().values())
    told = catalogues.metrics("", "jobs")
    assert "### Bounded slowdown\n\n`mean_bounded_slowdown`, `median_bounded_slowdown`" in told
    assert "Less is better. Source: D. G. Feitelson and L. Rudolph, JSSPP 1998." in told


INNER = {
    "children",
    "cli",
    "compression",
    "deprecation",
    "engines",
    "extras",
    "fb",
    "generated",
    "importing",
    "clocks",
    "left_out",
    "sockets",
    "steps",
    "strangers",
    "stubs",
    "systems",
    "distributions",
    "durations",
    "files",
    "methods",
    "signals",
    "tables",
    "web",
    "writing",
}
"""What is no room for users: how the library itself is made."""


def test_every_public_room_is_on_a_page() -> None:
    found = {each.name for each in pkgutil.iter_modules(batprotocol.__path__) if not each.name.startswith("_")}
    missing = {
        name
        for name in found - INNER
        if not any(f"{room}.".startswith(f"batprotocol.{name}.") for room in api.modules())
    }
    assert not missing, f"a page of docs/reference/python has `generated: python batprotocol.{next(iter(missing))}`"


def test_every_public_name_is_told_once() -> None:
    """On the page of the room that is its home; what has a page of its own elsewhere leads there."""
    told = Counter(
        f"{room}.{name}"
        for room, where in api.modules().items()
        for name in re.findall(
            rf"^\.\. (?:auto(?:class|exception|function)|py:data):: (?:{re.escape(room)}\.)?(\w+)$",
            api.python(where, room),
            re.MULTILINE,
        )
    )
    modules = set(api.modules())
    for (room, name), home in api.homes().items():
        thing = getattr(sys.modules[room], name)
        if home == room and getattr(thing, "__name__", "") not in modules:
            assert told[f"{room}.{name}"] == 1, f"{room}.{name} is told {told[f'{room}.{name}']} times"
        else:
            assert told[f"{room}.{name}"] == 0, f"{room}.{name} is told at home, in {home or 'another part'}"
        if home:
            assert api.homes()[home, name] == home
        elif room == "batprotocol.model":
            assert name in events.names(), f"{name} is on no page of events and values"


def test_the_main_names_come_first_and_constants_last() -> None:
    names = api.ordered("batprotocol.studies")
    assert names[0] == "Study"
    assert names[-1] == "KEYS"
    errors = api.ordered("batprotocol.policies")
    assert errors.index("FCFS") < errors.index("PolicyNameError") < errors.index("PARTS")


def test_an_index_has_a_line_for_each_name() -> None:
    for module, where in api.modules().items():
        lines = api.python(where, module).splitlines()
        linked = [match[1] for line in lines if (match := re.match(r"   \* - (?::py:obj:)?`+(\w+)", line))]
        assert linked == api.ordered(module) or len(api.public(module)) == 1 or set(linked) == set(api.public(module))
    index = api.python("", "batprotocol.studies")
    assert "   * - :py:obj:`Study <batprotocol.studies.Study>`\n     - Many simulations: " in index


def test_signatures_can_be_read() -> None:
    def shown(thing: object, written: str) -> str | None:
        return signatures.signature(None, "class", "name", thing, None, written, None)[0]

    metrics = "(*, own: ~collections.abc.Mapping[str, float] = <factory>, tau: float)"
    assert shown(Metrics, metrics) == "(*, own: ~collections.abc.Mapping[str, float]={}, tau: float)"
    triggered = "(metrics: Metrics = <Metrics.Power: 3>, *, accumulation: Strategy = _NO_ACCUMULATION)"
    assert shown(MessageBuilder.add_create_probe, triggered) == (
        "(metrics: Metrics=Metrics.Power, *, accumulation: Strategy=NoProbeDataAccumulation())"
    )


@pytest.mark.parametrize("source", [older.names, fast.names])
def test_every_message_of_other_protocols_is_on_its_page_once(source: Callable[[], dict[str, tuple[str, str]]]) -> None:
    for name, (where, anchor) in source().items():
        assert targets(where)[anchor] == 1, name


def test_an_older_event_tells_what_it_is_today() -> None:
    told = older.json_events("", "")
    assert "Sent by: the scheduler, before 3.0.  \n" in told.partition("### `SUBMIT_JOB`")[2]
    assert "Since 3.0: `REGISTER_JOB`.  \nToday: `RegisterJobEvent`." in told
    assert "`storage_mapping` object, since 3.0\n: For each storage" in told
    assert "Content: `WLOAD!JOB_ID`.  \nIn Python: `text_events.JobRejection`." in older.text_events("", "")


def test_a_message_of_fast_tells_its_keys() -> None:
    assert "`vm-configurations` list of VMConfiguration, required\n: The machines." in fast.messages("", "messages")
    assert "`retry_counter` number in [0, 4294967295], in the specification retry-counter\n" in fast.messages(
        "", "parts"
    )
    assert "| `SuspendVM` | `suspend vm` | `fast/migfra/<hostname>/task` |" in fast.routes("", "")


def test_blocks_in_docstrings_stay_blocks() -> None:
    lines = ["Do it.", "", "```python", "for x in y:", "    print(x)", "```"]
    api.fences(None, "function", "name", None, None, lines)
    assert lines == ["Do it.", "", ".. code-block:: python", "", "   for x in y:", "       print(x)", ""]
    lines = ["A number: of what."]
    api.fences(None, "attribute", "name", None, None, lines)
    assert lines == ["\\ ", "A number: of what."]


def test_sentences_of_the_code_become_markdown() -> None:
    assert prose('KillJobsEvent *and* `a*b` with --full, see "batproto rules"') == (
        r"`KillJobsEvent` \*and\* `a*b` with `--full`, see `batproto rules`"
    )
    assert definitions([("a", "one\n\ntwo")]) == "a\n: one\n\n  two"
