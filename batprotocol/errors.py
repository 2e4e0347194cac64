"""The exceptions of batprotocol, which modules of every layer import.

`ProtocolError` is the root: `except ProtocolError` catches all that the library raises because of what a peer sent or
because a value cannot be written. Wrong calls of ordinary functions still raise Python's own `TypeError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from reprlib import Repr
from typing import Any

__all__ = [
    "BuilderError",
    "CaptureError",
    "ClusterError",
    "DecodeError",
    "EncodeError",
    "HostSetError",
    "HostsError",
    "InputError",
    "JdlError",
    "PackageMissing",
    "PeerGone",
    "PeerSilent",
    "ProtocolError",
    "RuleViolation",
    "SchedulerError",
    "StoreAway",
    "StoreError",
    "StudyError",
    "TaskFailed",
]


_MOST_BITS = 14_000
"""The longest int that is written in digits. Python 3.15 writes the address in memory of one with thousands of them."""


class _Repr(Repr):
    def repr_int(self, value: int, level: int) -> str:
        return f"an int of {bits} bits" if (bits := value.bit_length()) > _MOST_BITS else super().repr_int(value, level)


_repr = _Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = 60


def an(noun: str) -> str:
    """A noun, such as the name of a type, with its article.

    >>> an("Job"), an("EDCHelloEvent"), an("int32"), an("uint32"), an("OneShot")
    ('a Job', 'an EDCHelloEvent', 'an int32', 'a uint32', 'a OneShot')
    """
    spoken = noun.lower()  # "one" and "uint" begin with consonants
    return f"{'an' if spoken[:1] in tuple('aeio') and not spoken.startswith('one') else 'a'} {noun}"


def shown(value: object) -> str:
    """A value as an error shows it: its `repr`, shortened.

    >>> shown([1, "a"]), shown(10**5000)
    ("[1, 'a']", 'an int of 16610 bits')
    """
    try:
        return _repr.repr(value)
    except ValueError:  # of an object whose repr writes such an int
        return an(type(value).__name__)


def hint(name: str, known: Iterable[str]) -> str:
    """A question for the end of a sentence, with the known name that is most like a misspelt one; "" if none is.

    Upper and lower case do not matter.

    >>> hint("eazy", ["easy", "fcfs"]), hint("x", ["easy", "fcfs"])
    ("; did you mean 'easy'?", '')
    """
    from difflib import get_close_matches  # few programs need it

    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), list(by_lower), 1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def printable(text: str) -> str:
    r"""The text, with escapes for all that would move the cursor, change colours or reorder the line.

    >>> printable("\x1b[31mred")
    '\\x1b[31mred'
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


class ProtocolError(Exception):
    """The root of all exceptions of batprotocol."""


class DecodeError(ProtocolError):
    """The bytes are not a message of the protocol.

    Attributes:
        reason: what was expected and what was found, as one sentence.
        path: where in the message, in the words of the schema (`events[3].event.job.profile_id`); empty for the whole.
        offset: the byte offset of the fault in the bytes given, or None when no single byte is at fault.
        partial: what could be read before the fault, as the nested dicts and lists of the JSON form, or None.
        line: the line of the fault, counted from 1, where the bytes are a text of lines; None elsewhere.
        column: the character in that line, counted from 1, or None.
    """

    def __init__(
        self,
        reason: str,
        path: str = "",
        offset: int | None = None,
        partial: Any = None,
        *,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(reason, path, offset)
        self.reason = reason
        self.path = path
        self.offset = offset
        self.partial = partial
        self.line = line
        self.column = column

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.reason!r}, {self.path!r}, {self.offset!r})"  # what could be read may be long
        )

    def __str__(self) -> str:
        place = [self.path] if self.path else []
        if self.offset is not None:
            place.append(f"byte {self.offset}")
        if self.line is not None:
            place.append(f"line {self.line}" if self.column is None else f"line {self.line}, column {self.column}")
        return f"{', '.join(place)}: {self.reason}" if place else self.reason


class _FieldError(ProtocolError):
    """A value that cannot be used, and the field that holds it."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class EncodeError(_FieldError):
    """A value that the wire cannot carry.

    Attributes:
        reason: what was expected and what was found, as one sentence.
        path: the field at fault, in the words of the schema (`events[0].event.job_id`).
    """


class BuilderError(_FieldError):
    """A call of `MessageBuilder` that was refused. The builder is as it was before the call.

    Attributes:
        reason: what was expected and what was found, as one sentence.
        path: the argument or field at fault (`job_id`, `job.resource_request`), or the method (`finish_message`).
    """


class HostSetError(ProtocolError, ValueError):
    """A host set that cannot be read as one, for example `"3-1"` or `-1`."""


class HostsError(ProtocolError, ValueError):
    """Hosts that cannot be taken out of `Hosts`, or given back, as they are now. Nothing has changed."""


class InputError(ProtocolError, ValueError):
    """An input of a simulation (workload, platform, external events) that cannot be used, found before anything runs.

    Attributes:
        reason: what was expected and what was found, as one sentence.
        path: where in the input, in its own words (`jobs[17].res`, `host n1`); empty for the whole.
        file: the file, or "" if the input is no file.
        line: the line of the fault, counted from 1, or None where no line is at fault.
        column: the character in that line, counted from 1, or None.
    """

    def __init__(
        self, reason: str, path: str = "", *, file: str = "", line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(reason, path, file, line, column)
        self.reason = reason
        self.path = path
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part not in ("", None))
        if self.line is not None and not self.file:
            place = f"line {place}"
        return ": ".join(part for part in (place, self.path, self.reason) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        return _input_error, (self.reason, self.path, self.file, self.line, self.column)


def _input_error(reason: str, path: str, file: str, line: int | None, column: int | None) -> InputError:
    return InputError(reason, path, file=file, line=line, column=column)


class JdlError(InputError):
    """A description of a campaign (JDL) that cannot be used, or that an admission rule refuses. Nothing is submitted.

    Attributes:
        code: the number that CiGri 2 gives such an error: -1 for a text or a list of parameters that cannot be read, -2
            where no cluster is defined, -3 where one has nothing to execute, -4 for equal parameters, -5 for an unknown
            type of campaigns.
        rule: the name of the admission rule that refuses it, or "".
    """

    def __init__(
        self, reason: str, path: str = "", *, line: int | None = None, code: int = -1, rule: str = "", file: str = ""
    ) -> None:
        super().__init__(reason, path, file=file, line=line)
        self.code = code
        self.rule = rule

    def __reduce__(self) -> tuple[Any, ...]:
        return _jdl_error, (self.reason, self.path, self.line, self.code, self.rule, self.file)


def _jdl_error(reason: str, path: str, line: int | None, code: int, rule: str, file: str) -> JdlError:
    return JdlError(reason, path, line=line, code=code, rule=rule, file=file)


class CaptureError(ProtocolError, ValueError):
    """A file that is not a capture of a conversation, or one that cannot be read.

    Attributes:
        reason: what is wrong, as a part of a sentence.
        file: the file.
    """

    def __init__(self, reason: str, file: str = "") -> None:
        super().__init__(reason, file)
        self.reason = reason
        self.file = file

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}" if self.file else self.reason


class ClusterError(ProtocolError):
    """A cluster that cannot be used now: nobody answers, or what it needs is missing. It may be asked again.

    Attributes:
        reason: what is wrong, as one sentence.
        cluster: the name of the cluster.
    """

    def __init__(self, reason: str, cluster: str = "") -> None:
        super().__init__(reason, cluster)
        self.reason = reason
        self.cluster = cluster

    def __str__(self) -> str:
        return f"cluster {self.cluster}: {self.reason}" if self.cluster else self.reason


class StoreError(ProtocolError):
    """A store of campaigns that cannot be used, or something that cannot be done with what is in it. Nothing has
    changed."""


class StoreAway(StoreError):
    """The server of a store has gone, or cannot be reached now. It may be asked again."""


class StudyError(ProtocolError):
    """A study that cannot be run as it is described, or a store of runs that cannot be used. Nothing has changed.

    Attributes:
        reason: what was expected and what was found, as one sentence.
        path: where in the description, in its own words (`scheduler[1].arguments`); empty for the whole.
        file: the file or folder, or "".
    """

    def __init__(self, reason: str, path: str = "", *, file: str = "") -> None:
        super().__init__(reason, path, file)
        self.reason = reason
        self.path = path
        self.file = file

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.path, self.reason) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        return _study_error, (self.reason, self.path, self.file)


def _study_error(reason: str, path: str, file: str) -> StudyError:
    return StudyError(reason, path, file=file)


class PackageMissing(ProtocolError, ImportError):
    """A package that only a part of the library needs is not installed. The message names it and says how to get it."""


class SystemLacks(ProtocolError):
    """This operating system lacks what a part of the library needs. The message names both."""


class PeerGone(ProtocolError):
    """The other side closed its connection before the simulation had ended."""


class PeerSilent(ProtocolError):
    """The other side sent nothing for longer than the time-out allows."""


class SchedulerError(ProtocolError, TypeError):
    """A scheduler that cannot be run as it was written, for example because a method takes other arguments."""


def expect_instance(value: object, kinds: type | tuple[type, ...], caller: str, noun: str) -> None:
    """Refuse a class where an instance is wanted, and anything else that is none.

    Args:
        value: what was given.
        kinds: the class of instances, or several classes.
        caller: what takes it: `simulate`.
        noun: what is expected, with its article: `a scheduler`.

    Raises:
        SchedulerError: it is no instance.
    """
    if isinstance(value, type):
        name = value.__name__
        raise SchedulerError(f"{caller} takes {noun}, and not a class: write {name}() instead of {name}")
    if not isinstance(value, kinds):
        raise SchedulerError(f"{caller} takes {noun}, got {shown(value)}")


def expect_options(function: str, given: Mapping[str, Any], known: type) -> None:
    """Refuse keyword arguments that are not known, as Python does.

    Args:
        function: the name of the function.
        given: the keyword arguments.
        known: the `TypedDict` that several functions share; its bases count, too.

    Raises:
        TypeError: one is not known.
    """
    names = known.__annotations__
    for name in given:
        if name not in names:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


class TaskFailed(ProtocolError):
    """A node answered that it could not do a task, or not all of it.

    Attributes:
        host: the node.
        task: the task, as a value of `batprotocol.fast.values`.
        result: the answer of the node, with an entry for each virtual machine.
    """

    def __init__(self, reason: str, host: str, task: Any, result: Any) -> None:
        super().__init__(reason, host, task, result)
        self.reason = reason
        self.host = host
        self.task = task
        self.result = result

    def __str__(self) -> str:
        return f"{self.host}: {self.reason}"


class RuleViolation(ProtocolError):
    """A decision component was about to send something that the rules of the conversation forbid.

    Attributes:
        violations: all that was found, as `batprotocol.conversation.Violation` values; at least one.
        rule: the id of the first one's rule (`job.unknown`); `batproto rules ID` explains it.
        path: the place of the first one (`events[0].event.job_id`).
        reason: what was found first, as one sentence.
    """

    def __init__(self, violations: Sequence[Any]) -> None:
        super().__init__(tuple(violations))
        self.violations = tuple(violations)
        self.rule: str = self.violations[0].rule
        self.path: str = self.violations[0].path
        self.reason: str = self.violations[0].text

    def __str__(self) -> str:
        return "; ".join(map(str, self.violations))
