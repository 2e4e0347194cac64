"""Completion for shells: the candidates for several commands, and the words as bash splits them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

__all__ = [
    "complete_age",
    "complete_any_rule_set",
    "complete_file",
    "complete_log_format",
    "complete_metric",
    "complete_old_protocol",
    "complete_rule",
    "complete_rule_set",
    "complete_scheduler",
    "completions",
    "policies",
    "use_bash_as_it_is",
]


def completions(names: Sequence[str], start: str) -> list[CompletionItem]:
    """The names that begin with this text; if there are none, those that begin with it in another case."""
    exact = [name for name in names if name.startswith(start)]
    return [CompletionItem(name) for name in exact or names if name.lower().startswith(start.lower())]


def complete_file(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Files."""
    return [CompletionItem(start, type="file")]


def complete_age(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The ages of the schema, and files."""
    from batprotocol.schemas import AGES

    return [*completions(AGES, start), CompletionItem(start, type="file")]


def complete_rule_set(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The rule sets of the current protocol."""
    from batprotocol.conversation import RULE_SETS

    return completions(tuple(RULE_SETS), start)


def complete_any_rule_set(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The rule sets of all protocols."""
    from batprotocol.wire.commands.protocols import rule_sets

    return completions(rule_sets(), start)


def complete_rule(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The rules of the current conversation."""
    from batprotocol.conversation import RULES

    return completions(tuple(RULES), start)


def complete_metric(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The metrics of whole runs."""
    from batprotocol.results.catalogue import OF_RUNS

    return completions(tuple(OF_RUNS), start)


def complete_old_protocol(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The versions of the older protocols."""
    from batprotocol.legacy import VERSIONS

    return completions((*VERSIONS, *(f"text-{number}" for number in range(4))), start)


def complete_log_format(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The formats of logs, that of captured network traffic, and files of columns."""
    from batprotocol.sites.logs.formats import FORMATS

    return [*completions((*FORMATS, "pcap"), start), CompletionItem(start, type="file")]


def complete_scheduler(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """A file with a scheduler in it, or the name of a policy."""
    return [*completions(policies(start), start), CompletionItem(start, type="file")]


def policies(start: str) -> list[str]:
    """The names of policies that begin like this: with one more part, or one more option of the last part.

    >>> policies("easy-s")[:3], policies("sjf+cons"), policies("easy=sjf,no")
    (['easy-sjf', 'easy-saf', 'easy-smallest'], ['sjf+conservative'], ['easy=sjf,no-spare'])
    """
    return list(dict.fromkeys([*_with_part(start), *_with_option(start)]))


def _with_part(start: str) -> Iterator[str]:
    """The names with one more part. Parts have hyphens of their own, so each + and - may be the last one."""
    from batprotocol.policies.names import PARTS, is_compatible, parts_of

    for place in range(len(start) + 1):
        head, rest = start[:place], start[place:]
        if "=" in rest or (head and head[-1] not in "+-"):
            continue
        used = parts_of(head[:-1]) if head else []
        if used is None:
            continue
        kinds = {part.kind for part in used if part.kind != "settings"}
        for part in PARTS.values():
            fits = part.kind not in kinds and part not in used and all(is_compatible(each, part.name) for each in used)
            if fits and part.name.startswith(rest.lower()):
                yield head + part.name + ("=" if part.split is not None else "")  # those need a file or a value


def _with_option(start: str) -> Iterator[str]:
    """The names with one more option of the last part, such as `easy=sjf`."""
    from batprotocol.policies.names import PARTS, parts_of

    head, equals, options = start.rpartition("=")
    parts = parts_of(head) if equals and "=" not in head.rpartition("+")[2] else None
    if not parts:
        return
    given, comma, rest = options.rpartition(",")
    chosen = set(given.split(","))
    for option in parts[-1].options.split(","):
        orders = [part.name for part in PARTS.values() if part.kind == "order"]
        values = orders if option == "ORDER" else [option] if option.islower() else []
        if chosen.isdisjoint(values):
            yield from (f"{head}={given}{comma}{value}" for value in values if value.startswith(rest))


# Bash

_BREAKS: Final = frozenset("=:")
"""Bash takes these characters for words of their own, and replaces only the text after the last of them."""


_FILES: Final = """\
            COMPREPLY=()
            compopt -o default
"""
_FILES_TOO: Final = """\
            compopt -o filenames
            COMPREPLY+=($(compgen -f -- "$value"))
"""
"""Files beside names, where click's own script offers files alone."""


class _Bash(BashComplete):
    """Bash with `easy=sjf`, `--only scheduler=easy` and `scheduler.py:FCFS` as one word each."""

    source_template = BashComplete.source_template.replace(_FILES, _FILES_TOO)
    before = ""
    """The part of the last word that bash does not replace."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the last one, and the last one, as the user typed them."""
        given = split_arg_string(os.environ["COMP_WORDS"])
        count = int(os.environ["COMP_CWORD"])
        last = given[count] if count < len(given) else ""
        *words, whole = _joined([*given[1:count], last])
        self.before = whole if last and _BREAKS.issuperset(last) else whole.removesuffix(last)
        return words, whole

    def format_completion(self, item: CompletionItem[str]) -> str:
        """One line for bash: the kind of the completion, and the part of it that bash is to write."""
        value = str(item.value)
        for place in range(len(self.before)):
            if value.startswith(self.before[place:]):
                value = value.removeprefix(self.before[place:])
                break
        return f"{item.type},{value}"


def _joined(words: Iterable[str]) -> list[str]:
    """The words, with those that bash has split at `_BREAKS` in one piece again."""
    found: list[str] = []
    is_open = False
    for word in words:
        is_break = bool(word) and _BREAKS.issuperset(word)
        if found and (is_open or is_break):
            found[-1] += word
        else:
            found.append(word)
        is_open = is_break
    return found


def use_bash_as_it_is() -> None:
    """Complete in bash by the words that the user typed."""
    add_completion_class(_Bash)
