"""JSON over ZeroMQ, the protocol of Batsim 1 to 4: values, the table of versions, the codec, the builder.

`codec` reads bytes into the events of `events`. `careful` reads the messages on which `codec` fails. The events hold
the values of `values`. `profiles` translates the profiles among them into the current protocol. `versions` lists the
versions in which each event and field exists.
"""
