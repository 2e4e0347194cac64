"""Read a message of Batsim, and answer it: execute each submitted job on hosts 0 to 3."""

from __future__ import annotations

import sys
from pathlib import Path

import batprotocol
from batprotocol import JobSubmittedEvent, Message, MessageBuilder


def reply(message: Message) -> Message:
    builder = MessageBuilder(now=message.now)
    for event in message.events:
        if isinstance(event, JobSubmittedEvent):
            builder.add_execute_job(event.job_id, "0-3")
    return builder.finish_message()


if __name__ == "__main__":
    print(reply(batprotocol.decode(Path(sys.argv[1]).read_bytes())).to_json(indent=2))
