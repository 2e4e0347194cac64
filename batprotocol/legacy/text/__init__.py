"""Text over Unix sockets, the protocol before Batsim 1.

`events` are its values, `wire` has the table of its sixteen stamps and the codec, `rules` judges the messages of a
scheduler, and `runtime` has the sockets and the ends of a bridge. Messages do not hold the requests of jobs: these are
in Redis (`batprotocol.legacy.store`), or in the workload file.
"""
