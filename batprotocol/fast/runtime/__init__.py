"""FaST over a real broker: a connection, tasks that wait for results, schedulers as programs, and nodes for tests."""
