"""An embedded Batsim: the same protocol and the same results, without SimGrid."""
