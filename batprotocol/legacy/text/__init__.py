"""Text over Unix sockets, the protocol before Batsim 1: the events of its sixteen stamps, and the codec.

`stamps` has the table, `lenient` the other forms that Batsim accepts, and `framing` the size before each message.
Messages do not hold the requests of jobs: they are in Redis (`batprotocol.legacy.store`), or in the workload file.
"""
