"""Jobs that were killed, and run again: after a failure, when they gave way, and when they wait for a better time.

This module must not know why jobs are killed.
"""

from __future__ import annotations

from batprotocol.model import KillProgress
from batprotocol.policies.jobs import State
from batprotocol.policies.site.actions import Actions
from batprotocol.policies.site.admission import Admission
from batprotocol.policies.site.fates import Fates
from batprotocol.policies.site.holding import Holding
from batprotocol.policies.site.jobs import SiteJob, SiteRunning
from batprotocol.policies.site.lives import Ended, Lives
from batprotocol.policies.site.membership import fixed, refusal_of_deadline
from batprotocol.policies.site.preempting import Preempting
from batprotocol.policies.site.runs import Run

__all__ = ["Rerunning"]


class Rerunning:
    """Lets jobs run again.

    Args:
        state: the time.
        lives: the jobs that run more than once.
        preempting: who gives way to whom; None: nobody does.
        admission: where jobs can run.
        holding: the jobs that wait.
        fates: what hosts that are away mean for jobs.
        actions: how jobs are registered.
    """

    def __init__(
        self,
        state: State,
        lives: Lives,
        preempting: Preempting | None,
        admission: Admission,
        holding: Holding,
        fates: Fates,
        actions: Actions,
    ) -> None:
        self._state, self._lives, self._preempting, self._admission = state, lives, preempting, admission
        self._holding, self._fates, self._actions = holding, fates, actions

    def next_run(self, job: SiteRunning, end: str, progress: KillProgress | None) -> Ended:
        """Register a job again that was killed, if it is to run again."""
        waited, is_saved, part = job.entry.job, False, self._lives.part
        is_late = end != "interrupted" and refusal_of_deadline(waited, self._state.now) is not None
        if waited.request.requeue is False or is_late:
            return Ended(progress)
        if end == "preempted" and self._preempting is not None:
            mode = self._preempting.mode_of(job)
            keeps_place, is_saved = True, mode == "checkpoint"
            if mode == "cancel":
                return Ended(progress)
        elif end in ("failure", "window") and part is not None:
            if (waited.life.failures if waited.life else 0) >= part.times:
                return Ended(progress)
            keeps_place = not part.last
        elif end == "interrupted":
            keeps_place = is_saved = True
        else:
            return Ended(progress)
        used = self._state.now - job.started - self._state.resolution if end == "interrupted" else 0.0
        run = self._lives.next(waited, progress, is_saved=is_saved, used=max(used, 0.0))
        assert waited.life is not None
        waited.life.failures += end in ("failure", "window")
        self._actions.register(run.id, run.job, run.profiles)
        self._wait_again(job, run, keeps_place, end == "interrupted")
        return Ended(progress, run, is_saved)

    def _wait_again(self, job: SiteRunning, run: Run, keeps_place: bool, was_interrupted: bool) -> None:
        """The next run of a job joins the queue, or waits for a better time if it was interrupted."""
        waited, now = job.entry.job, self._state.now
        again = SiteJob(run.id, run.job, waited.number, waited.submitted, waited.request)
        if not keeps_place:  # as if it was submitted now
            again.submitted, again.request = now, fixed(waited.request, waited.submitted)
        again.first_id, again.life, again.run, again.profile = waited.first_id, waited.life, run, run.profile
        again.eligible = now
        again.lost = waited.lost + (0.0 if run.profiles else now - job.started)
        self._admission.again(again, waited, keeps_place=keeps_place)
        if was_interrupted:
            again.ran = waited.ran + (now - job.started if run.profiles or run.pieces else 0.0)
            again.total = waited.total if waited.ran else job.entry.expected
            for entry in again.entries:
                entry.expected = min(entry.expected, max(again.total - again.ran, 0.0))
            self._holding.hold(again)
        else:
            self._holding.again(again)
        self._fates.give_up_hope((again,))
