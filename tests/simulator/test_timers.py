"""Time-outs come by their dates, and those of one date in the order of SimGrid's heap."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from batprotocol.simulator.machine.queue import Timer, Timers

WITHOUT_ENGINE = True


def popped(timers: Timers) -> list[int]:
    """All that is left, in the order in which it comes."""
    found = []
    while timers.next_date() < float("inf"):
        found.append(timers.pop().what)
    return found


def added(timers: Timers, dates: list[float]) -> list[Timer]:
    made = [Timer(date, number, None) for number, date in enumerate(dates)]
    for timer in made:
        timers.add(timer)
    return made


def test_those_of_one_date_come_as_trees_have_grown() -> None:
    """As five jobs of one walltime ended in Batsim."""
    timers = Timers()
    added(timers, [1e7] * 5)
    assert popped(timers) == [0, 1, 3, 4, 2]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(0, 5)),
            st.tuples(st.just("remove"), st.integers(0, 50)),
            st.tuples(st.just("pop"), st.just(0)),
            st.tuples(st.just("pickle"), st.just(0)),
        ),
        max_size=80,
    )
)
def test_they_come_by_their_dates(does: list[tuple[str, int]]) -> None:
    timers, there, made = Timers(), dict[int, float](), dict[int, Timer]()
    for number, (what, value) in enumerate(does):
        if what == "add":
            made[number] = Timer(float(value), number, None)
            timers.add(made[number])
            there[number] = float(value)
        elif what == "pickle":
            timers, made = pickle.loads(pickle.dumps((timers, made)))
        elif there and what == "remove":
            gone = list(there)[value % len(there)]
            timers.remove(made.pop(gone))
            del there[gone]
        elif there:
            first = timers.pop()
            assert first.date == there.pop(first.what) == min([first.date, *there.values()])
        assert timers.next_date() == min(there.values(), default=float("inf"))
    assert sorted(popped(timers)) == sorted(there)


def test_many_can_be_pickled() -> None:
    timers = Timers()
    added(timers, [float(number % 7) for number in range(5000)])
    timers.pop()
    assert popped(pickle.loads(pickle.dumps(timers))) == popped(timers)
