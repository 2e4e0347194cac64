"""JSON over ZeroMQ, the protocol of Batsim 1 to 4.

`values` and `events` are its values, with the table of the versions in which each event and field exists. `wire` reads
and writes bytes, `builder` makes messages, and `rules` judges the messages of a scheduler.
"""
