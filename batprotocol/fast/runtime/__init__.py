"""FaST over a real broker: the connection, the tasks that wait for their results, and schedulers as programs."""
