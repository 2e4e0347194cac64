"""JSON over ZeroMQ, the protocol of Batsim 1 to 4: values, the table of versions, the codec, the builder.

The data take this way: `codec` (and `careful`, what it stumbles over) makes the events of `events`, which hold the
values of `values`, whose profiles `profiles` knows in today's words; `versions` tells what exists when.
"""
