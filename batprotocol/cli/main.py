"""The commands of `batproto`: what they take, and what they exit with.

The work is done by the other modules of this folder, and what a message is, the library knows.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import BinaryIO, NoReturn, TextIO, cast

import click
from click.shell_completion import CompletionItem, get_completion_class

from batprotocol.cli.bridge_command import bridge
from batprotocol.cli.conformance_command import conformance
from batprotocol.cli.fast_command import fast
from batprotocol.cli.library_command import library
from batprotocol.cli.output import PIPE_CLOSED, Output, discard, reason_of
from batprotocol.cli.parameters import (
    WithCommand,
    any_rule_set,
    complete_any_rule_set,
    complete_file,
    completions,
    old_protocol,
    seconds,
    unknown,
)
from batprotocol.cli.schema_command import schema
from batprotocol.cli.simulate_command import simulate
from batprotocol.cli.text import printable
from batprotocol.errors import ProtocolError

__all__ = ["batproto", "main"]

NAME = "batproto"
SHELLS = ("bash", "zsh", "fish")
INTERRUPTED = 130
"""What shells report for a program that SIGINT ends."""

# The modules that print or read messages are imported by the commands that need them: `batproto --help` and the shell's
# completion should not wait for them.

_paths = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True, readable=False, path_type=str)
)


def _show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from batprotocol.cli.version import slow_engine, version

        click.echo(f"{NAME} {version()}")
        sentence = slow_engine()
        if sentence:
            click.echo(f"{NAME}: {sentence}", err=True)
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version, the engine, and the source tree if it runs from one, and exit.",
)
@click.pass_context
def batproto(context: click.Context) -> None:
    """Read, check and convert messages of batprotocol, the protocol between Batsim and schedulers.

    FILE is a message file or a handshake frame, in whatever format and of whatever age, from the text before Batsim 1
    on; a directory or a .tar.xz archive of them; run.tar.xz/00004-b2e.bin, a single member of an archive; a recording
    of FaST, run.jsonl, or a line of it, run.jsonl/5; or - for standard input. Messages may have up to 256 MiB, and
    archives unpack to as much, or to 500 times their size.

    \b
    Examples:
      batproto dump run.tar.xz                      what was said in a run
      batproto dump --job 'w0!12' run.tar.xz        ... about one job
      batproto dump --json-lines run.tar.xz | jq .  ... for other programs
      batproto convert message.bin message.json
      batproto validate recordings/
      batproto check run.tar.xz                     what Batsim would not survive
      batproto simulate scheduler.py:FCFS           what a scheduler makes of 250 jobs
      batproto conformance scheduler.py:FCFS        what a scheduler gets wrong
      batproto run --protocol 4.2 scheduler.py:FCFS a scheduler of today with Batsim 4
      batproto schema ExecuteJob

    \b
    Exit status:
      0    all is well
      1    something is wrong with a message, a file or the output; what can be done is done
      2    the command line is wrong, or Batsim's own status, which "batproto run" passes on
      130  interrupted
      141  nobody reads the output any more
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


# batproto dump


def _event_names(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> frozenset[str]:
    from batprotocol.cli.selection import EVENTS, event_name

    chosen = {event_name(name) or unknown(context, f"no event type is called {name!r}", name, EVENTS) for name in names}
    return frozenset(chosen)


def _complete_event(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.cli.selection import EVENTS

    return completions(EVENTS, start)


@batproto.command()
@_paths
@click.option("--json", "shape", flag_value="json", help="Print each message as JSON over several lines.")
@click.option("--json-lines", "shape", flag_value="json-lines", help="Print each message as JSON on one line.")
@click.option(
    "-e",
    "--event",
    "events",
    metavar="TYPE",
    multiple=True,
    callback=_event_names,
    shell_complete=_complete_event,
    help="Only events of this type, such as JobSubmitted. Can be repeated.",
)
@click.option(
    "-j",
    "--job",
    "jobs",
    metavar="ID",
    multiple=True,
    help="Only events that mention this job; an ID without '!' means that job of any workload. Can be repeated.",
)
@click.option("--full", is_flag=True, help="Show long vectors, texts and events whole, and alike elements one by one.")
@click.pass_context
def dump(
    context: click.Context,
    files: tuple[str, ...],
    shape: str | None,
    events: frozenset[str],
    jobs: tuple[str, ...],
    full: bool,
) -> None:
    """Print messages as readable trees, or as JSON.

    Of a broken message, what could be read is printed, then on standard error what is wrong and where; the other files
    are still printed, and the exit status is 1. Fields that only a newer schema has are skipped with a remark.

    With --event or --job, only the events that satisfy both are printed, and only messages that have some.

    With --json or --json-lines, the frame of message 1 is printed as its message, that of message 0 as {"init": TEXT},
    and a broken message has an "error" with its path, offset and reason. NaN and Infinity are written as such.
    """
    from batprotocol.cli import dump as work

    output, selection = Output(), work.Selection(events, frozenset(jobs))
    work.dump(files, output, selection, shape or "tree", full=full)
    context.exit(int(output.failed))


# batproto validate


@batproto.command()
@_paths
@click.option("-q", "--quiet", is_flag=True, help="Print only what is wrong.")
@click.pass_context
def validate(context: click.Context, files: tuple[str, ...], quiet: bool) -> None:
    """Check that messages can be read, with no field that the schema does not have.

    Prints a line for each good file on standard output, and for each bad message on standard error what is wrong and
    where. The exit status is 1 if there is any.
    """
    from batprotocol.cli import validate as work

    output = Output()
    work.validate(files, output, quiet=quiet)
    context.exit(int(output.failed))


# batproto convert


@batproto.command()
@click.argument("source", metavar="IN", type=click.Path(allow_dash=True, readable=False, path_type=str))
@click.argument("target", metavar="OUT", type=click.Path(allow_dash=True, readable=False, path_type=str))
@click.option("--to", type=click.Choice(["binary", "json", "yaml", "specification"]), help="The format of OUT.")
@click.option(
    "--indent",
    type=click.IntRange(0, 16),
    default=2,
    show_default=True,
    help="Spaces for each level of JSON; 0 is one line.",
)
def convert(source: str, target: str, to: str | None, indent: int) -> None:
    """Convert the message in IN from binary or YAML to JSON or back, and write it to OUT.

    Either can be - for standard input or output. Without --to, the suffix of OUT tells the format (.json; .bin or .fb;
    .yaml), or else it is the one that IN has not. A message of FaST can be json, yaml (as fast-lib writes it) or
    specification (the YAML of its specification); run.jsonl/5 is the fifth line of a recording. The frame of message 1
    stays a frame, whose JSON is always one line; other JSON ends with a line break. OUT can be IN, and is not touched
    if anything fails.
    """
    from batprotocol.cli import convert as work

    work.convert(source, target, to, indent or None)


# batproto check, batproto rules


@batproto.command()
@_paths
@click.option(
    "--rules",
    metavar="NAME",
    callback=any_rule_set,
    shell_complete=complete_any_rule_set,
    help="The rule set: batsim-5.0.0-rc2 (what that Batsim does, the default) or protocol (what the schema demands); "
    "batsim-4.2.1, batsim-2.0.0, batsim-1.4.0 or text-3 for older runs, whose Batsim the first message tells.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only what is wrong.")
@click.pass_context
def check(context: click.Context, files: tuple[str, ...], rules: str, quiet: bool) -> None:
    """Check that what was said in a run follows the rules of the conversation.

    A conversation is all messages of an archive or of a folder, by name, from the initialization data on. Prints each
    violation with its message, place, severity and rule; "batproto rules ID" explains the rule. The exit status is 1 if
    there is an error (Batsim aborts or crashes) or a deadlock, or if a conversation cannot be read.
    """
    from batprotocol.cli import check as work

    output = Output()
    work.check(files, output, rules=rules, quiet=quiet)
    context.exit(int(output.failed))


def _rule_id(context: click.Context, parameter: click.Parameter, id: str | None) -> str | None:
    from batprotocol.cli.protocols import catalogues
    from batprotocol.cli.rules import ids

    if id is not None and id not in (names := ids(catalogues())):
        unknown(context, f"there is no rule {id!r}", id, names)
    return id


def _complete_rule(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    from batprotocol.cli.protocols import catalogues
    from batprotocol.cli.rules import ids

    return completions(ids(catalogues()), start)


@batproto.command()
@click.argument("id", required=False, callback=_rule_id, shell_complete=_complete_rule)
def rules(id: str | None) -> None:
    """Explain the rule ID of the conversation: what is wrong, and the way out. Without it, all rules are listed."""
    from batprotocol.cli.protocols import catalogues
    from batprotocol.cli.rules import explain, overview

    output = Output()
    output.lines(explain(id, catalogues(), output.wrap_at) if id else overview(catalogues()))


# batproto run


@batproto.command(cls=WithCommand)
@click.argument("target", metavar="FILE:CLASS", shell_complete=complete_file)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--endpoint", metavar="ENDPOINT", help="Where to wait for Batsim.  [default: tcp://*:28000]")
@click.option("--format", type=click.Choice(["binary", "json"]), default="binary", show_default=True)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=float,
    callback=seconds,
    help="How long to wait for each message; for ever unless given.",
)
@click.option("--init", metavar="TEXT", help="Initialization data, in place of those that Batsim sends.")
@click.option(
    "--record",
    metavar="DIR|FILE.tar.xz",
    type=click.Path(readable=False, path_type=str),
    help="Record all that is said, for dump and check. A FILE.tar, which is not packed, is the fastest.",
)
@click.option("--in-process", is_flag=True, help="Let COMMAND load the scheduler: no socket, the fastest way.")
@click.option(
    "--protocol",
    metavar="VERSION",
    callback=old_protocol,
    help="Speak with a Batsim of an older version: 1.0 to 4.2, or text-3.",
)
@click.option("--pin", is_flag=True, help="Keep the scheduler and COMMAND on one core: twice as fast or more.")
@click.option("-v", "--verbose", is_flag=True, help="Show what the scheduler logs for information, too.")
@click.pass_context
def run(
    context: click.Context,
    target: str,
    command: tuple[str, ...],
    endpoint: str | None,
    format: str,
    timeout: float | None,
    init: str | None,
    record: str | None,
    in_process: bool,
    protocol: str | None,
    pin: bool,
    verbose: bool,
) -> None:
    """Run the scheduler CLASS of a Python FILE for one simulation.

    ENDPOINT is one of ZeroMQ, such as tcp://127.0.0.1:* (any free port), or ipc:///tmp/batsim.sock.

    With a COMMAND, which is Batsim, a whole simulation is run: it is started as soon as it can connect, with {endpoint}
    and {init} filled in, and its exit status is passed on. Who wants to be told the endpoint gets a private one unless
    --endpoint is given. If one of the two ends too early, a sentence says which, and the other is ended, too.

    With --in-process, COMMAND loads the scheduler into its own process, by Batsim's option --edc-library-str, which is
    added to it. Where COMMAND holds {library}, nothing is added: {library} and {init} are filled in.

    A recording has a file for each message, in a new folder or in an archive. Even of a run that was killed, it can be
    read up to the last message: meanwhile, FILE.tar.xz is an archive that is not compressed yet, and DIR holds one.

    \b
    Examples:
      batproto run scheduler.py:FCFS
      batproto run --pin scheduler.py:FCFS -- batsim -p platform.xml -w workload.json \\
          --edc-socket-str {endpoint} ""
      batproto run --in-process scheduler.py:FCFS -- batsim -p platform.xml -w workload.json
    """
    if in_process:
        from batprotocol.cli import in_process as inside

        if endpoint is not None or timeout is not None:
            option = "--timeout" if endpoint is None else "--endpoint"
            raise click.UsageError(f"{option} is for the socket, and with --in-process there is none", context)
        if protocol is not None:
            raise click.UsageError("a Batsim of an older protocol does not load schedulers: no --in-process", context)
        context.exit(inside.run(target, command, pin, init=init or "", format=format, record=record, verbose=verbose))
    from batprotocol.cli import run as work

    status = work.run(
        target,
        endpoint=endpoint,
        format=format,
        timeout=timeout,
        init=init,
        record=record,
        pin=pin,
        verbose=verbose,
        command=command,
        protocol=protocol,
    )
    context.exit(status)


# What other modules define


for _command in (schema, library, simulate, conformance, bridge, fast):
    batproto.add_command(_command)


# batproto new


@batproto.group()
def new() -> None:
    """Write files to start from."""


@new.command("scheduler")
@click.argument("name")
def new_scheduler(name: str) -> None:
    """Write a scheduler called NAME (for example MyScheduler) and its test into the current directory."""
    from batprotocol.cli import new as work

    for file in work.new_scheduler(name):
        click.echo(f"wrote {file}")


# batproto completion


@batproto.command()
@click.argument("shell", metavar="bash|zsh|fish", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that makes the shell complete batproto's commands, options, files, event types and names.

    \b
    bash:  batproto completion bash > ~/.local/share/bash-completion/completions/batproto
    zsh:   batproto completion zsh > ~/.zfunc/_batproto   (with ~/.zfunc in fpath, before compinit)
    fish:  batproto completion fish > ~/.config/fish/completions/batproto.fish
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(batproto, {}, NAME, f"_{NAME.upper()}_COMPLETE").source())


# The program


class _Closed(io.RawIOBase):
    """Standard output that was closed before the program began: who writes to it is told."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.EBADF, "it is closed")


def _closed() -> TextIO:
    return io.TextIOWrapper(cast(BinaryIO, _Closed()), "utf-8", write_through=True)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `batproto` and exit. All that goes wrong is told in one sentence on standard error."""
    with open(os.devnull, "w") as nowhere, _closed() as closed:
        # Both are None when the program was started with them closed.
        sys.stdout = sys.stdout or closed
        sys.stderr = sys.stderr or nowhere
        status, sentence = _run(arguments)
        if sentence:
            print(printable(sentence), file=sys.stderr)
    sys.exit(status)


def _run(arguments: Sequence[str] | None) -> tuple[int, str]:
    """The exit status, and what to say on standard error."""
    try:
        status = batproto.main(arguments, prog_name=NAME, standalone_mode=False)
        sys.stdout.flush()
        return int(status or 0), ""
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else NAME
        message = " ".join(error.format_message().split()).rstrip(".")
        return error.exit_code, f"{command}: {message[:1].lower()}{message[1:]} (see {command} --help)"
    except click.ClickException as error:
        return error.exit_code, f"{NAME}: {error.format_message()}"
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED, ""
    except ProtocolError as error:
        return 1, f"{NAME}: {error}"
    except BrokenPipeError:
        discard(sys.stdout)
        return PIPE_CLOSED, ""
    except OSError as error:
        discard(sys.stdout)
        return 1, f"{NAME}: {error.filename or 'standard output'}: {reason_of(error)}"
    except MemoryError:
        return 1, f"{NAME}: there is not enough memory for this"
    except Exception as error:
        place = _place(error)
        return 1, f"{NAME}: a fault of batproto itself, please report it: {type(error).__name__} in {place}: {error}"


def _place(error: Exception) -> str:
    """Where an exception was raised, for a report."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return f"{os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}" if last is not None else "?"
