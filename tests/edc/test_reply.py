"""Replies that are checked while they are made: what Batsim refuses is raised in the line that asks for it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from replay import HOSTS, begins, said, submitted
from simulations import Everywhere, types

from batprotocol import (
    AllStaticJobsHaveBeenSubmittedEvent,
    BuilderError,
    JobSubmittedEvent,
    OneShot,
    RejectJobEvent,
    RequestedCallEvent,
)
from batprotocol.edc import Reply, Scheduler, rehearse
from batprotocol.errors import RuleViolation

WITHOUT_ENGINE = True


def test_what_batsim_refuses_is_raised_in_the_line_that_asks_for_it() -> None:
    class Greedy(Scheduler):
        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            self.reply.add_call_me_later("later", OneShot(100))
            with pytest.raises(RuleViolation) as caught:
                self.reply.add_execute_job(event.job_id, HOSTS)  # this line
            assert caught.value.rule == "hosts.unknown"
            lines = [str(entry.statement) for entry in caught.traceback if Path(entry.path) == Path(__file__)]
            assert "# this line" in lines[-1]
            self.reply.add_execute_job(event.job_id, HOSTS - 1)

    replies = rehearse(Greedy(), [begins(), submitted(1.0)])
    assert types(replies) == [[], ["CallMeLaterEvent", "ExecuteJobEvent"]]


def test_a_refused_event_leaves_the_reply_as_it_was() -> None:
    def refused(reply: Reply) -> None:
        with pytest.raises(RuleViolation):
            reply.add(RejectJobEvent(job_id="w0!2", timestamp=9.0))
        with pytest.raises(BuilderError):
            reply.add_reject_job("")

    class Sloppy(Scheduler):
        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            refused(self.reply)
            assert (self.reply.events, self.reply.current_time) == ((), 1.0)
            self.reply.add_reject_job(event.job_id)
            refused(self.reply)
            assert self.reply.events == (RejectJobEvent(job_id="w0!1", timestamp=1.0),)

    assert rehearse(Sloppy(), [begins(), submitted(1.0)])[1].now == 1.0


def test_a_reply_cannot_be_cleared_once_it_holds_events() -> None:
    class Clearing(Scheduler):
        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            self.reply.clear(self.now)
            self.reply.add_reject_job(event.job_id)
            with pytest.raises(BuilderError, match="have taken effect"):
                self.reply.clear()

    assert types(rehearse(Clearing(), [begins(), submitted(1.0)])) == [[], ["RejectJobEvent"]]


@pytest.mark.parametrize("finish", [True, False])
def test_thinking_takes_simulated_time(finish: bool) -> None:
    class Thinker(Everywhere):
        def decide(self) -> None:
            if finish:
                self.reply.finish_message(self.now + 5.0)
            else:
                self.reply.set_current_time(self.now + 5.0)

    assert [reply.now for reply in rehearse(Thinker(), [begins(), submitted(10.0)])] == [5.0, 15.0]


def test_a_deadlock_is_refused_when_the_reply_is_closed() -> None:
    class Lazy(Scheduler):
        pass

    last = said(1.0, *submitted(1.0).events, AllStaticJobsHaveBeenSubmittedEvent())
    with pytest.raises(RuleViolation) as caught:
        rehearse(Lazy(), [begins(), last])
    assert caught.value.violations[0].severity == "deadlock"


def test_a_deadlock_is_only_logged_after_batsim_has_said_what_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    odd = said(0.5, RequestedCallEvent(call_me_later_id="nobody asked"))
    last = said(1.0, *submitted(1.0).events, AllStaticJobsHaveBeenSubmittedEvent())
    assert types(rehearse(Scheduler(), [begins(), odd, last])) == [[], [], []]
    assert "call.unasked" in caplog.text
    assert "deadlock" in caplog.text


def test_what_is_odd_is_logged_once_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "batprotocol.edc")
    odd = [said(float(number), RequestedCallEvent(call_me_later_id="x")) for number in range(1, 4)]
    rehearse(Scheduler(), [begins(), *odd])
    records = [record for record in caplog.records if "call.unasked" in record.getMessage()]
    assert [record.levelname for record in records] == ["WARNING", "DEBUG", "DEBUG"]
