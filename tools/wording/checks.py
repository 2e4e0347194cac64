"""The checks of wording: those of proselint that fit technical English, and the vocabulary of the project.

proselint (https://github.com/amperser/proselint) finds doubled, superfluous and wrong words. `VOCABULARY` lists the
words that the project does not use, each with the words to write instead. The project's checks have proselint's types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from proselint.registry.checks import Check, CheckResult

TAKEN = (
    "lexical_illusions",
    "malapropisms",
    "misc.false_plurals",
    "misc.many_a",
    "misc.not_guilty",
    "misc.whence",
    "mixed_metaphors",
    "nonwords",
    "redundancy",
    "archaism",
    "industrial_language.bureaucratese",
    "industrial_language.corporate_speak",
    "spelling.able_ible",
    "spelling.ally_ly",
    "spelling.ance_ence",
    "spelling.ely_ly",
    "spelling.er_or",
    "uncomparables",
)
"""The checks of proselint that run. The others are for essays, or do not understand numbers, names and code."""

LONGEST = 40
"""The maximum number of words in a sentence."""


class Word(NamedTuple):
    """A wording that the project does not use: the name of its check, its pattern, and the words to write instead."""

    name: str
    pattern: str
    instead: str


VOCABULARY = (
    Word("tell", r"\b(?:tell|tells|told|telling)\b", "report, print, show, document, record, define, describe, notify"),
    Word(
        "of-noun",
        r"\bwhat (?:is|was|were|has|had|comes?|came|becomes?|became) of\b|\bwhat (?:comes?|came|becomes?|became)\b",
        "name the thing: the result, the effect, the outcome",
    ),
    Word(
        "is-no",
        r"(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|other\b)",
        "is not a ...",
    ),
    Word("whoever", r"\b[Ww]ho(?:m)?ever\b", "name who: users, the scheduler, a reader"),
    Word("hang-on", r"\bhangs? on\b", "depends on"),
    Word("same", r"\bcomes? (?:out )?to the same\b|\bit is all the same\b", "is equivalent"),
    Word("room", r"\b[Rr]ooms?\b", "package, module; space"),
    Word("floor", r"\b[Ff]loors?\b", "layer"),
    Word("house", r"\b(?:the|a) house\b", "project, library"),
    Word("ready", r"\b[Rr]eady (?:policy|policies|schedulers?|ones?)\b", "built-in"),
    Word("choice", r"\bchoices? of hosts\b", "allocation"),
    Word("badness", r"\bbadness\b", "estimate factor"),
    Word("worth", r"\bwhat (?:it|a step|that|this) (?:is|was) worth\b", "reward"),
    Word("seen", r"\bwhat (?:is|was) seen\b", "observation"),
    Word("manieth", r"\bhow manieth\b", "which, the number of"),
    Word("so-many", r"\b(?:for|of|after|in|by|at) so (?:many|much)\b|^\W*So (?:many|much)\b", "name the number"),
    Word(
        "what-subject",
        r"(?:^|[.:;] )\W*(?:What|Whatever|Who) "
        r"(?!(?:is|are|does|do|can|happens|should|if|was|were|would|must|did)\b[^.;]*\?)",
        "begin with the subject: name the thing or the person",
    ),
    Word("for-want", r"\bfor want of\b", "because ... is missing"),
    Word("be-it", r"\b(?:be[ ]it|as it[ ]were|no matter[ ]whether)\b", "whether"),
    Word("of-then", r"\bof (?:then|today|now|old)\b", "name the version or the time"),
    Word("business", r"\bown business\b", "internal"),
    Word("thereof", r"\b(?:thereof|therein|thereby|wherein|whereof|henceforth|hitherto)\b", "of it, in it"),
    Word("peculiar", r"\bpeculiar to\b", "specific to"),
    Word("by-themselves", r"\bby (?:themselves|itself)\b", "automatically, alone"),
    Word("save-for", r"\ball but (?=the|those|what)\b", "all except"),
)
"""The wordings that the project does not use."""


def _found(word: Word) -> Check:
    pattern = re.compile(word.pattern, re.MULTILINE)

    def check(text: str, described: Check) -> Iterator[CheckResult]:
        for found in pattern.finditer(text):
            yield CheckResult(described.path, described.message, found.span(), None)

    return Check(check_type=check, path=f"batprotocol.{word.name}", message=f"write instead: {word.instead}")


_SENTENCE = re.compile(r"(?:[^.!?:;|\n]|[.!?:;](?!\s)|\n(?!\s*(?:\n|[-*#|>]|\d+\. )))+")
_WORD = re.compile(r"[A-Za-z][\w'-]*")


def _long(text: str, described: Check) -> Iterator[CheckResult]:
    for found in _SENTENCE.finditer(text):
        words = len(_WORD.findall(found.group()))
        if words > LONGEST:
            start = found.start() + len(found.group()) - len(found.group().lstrip())
            yield CheckResult(described.path, f"{words} words, {LONGEST} at most: split it", (start, found.end()), None)


OURS = (*map(_found, VOCABULARY), Check(check_type=_long, path="batprotocol.long-sentence"))
"""The project's own checks."""
