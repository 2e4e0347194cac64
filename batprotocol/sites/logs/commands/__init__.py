"""`batproto import`: `command`, its `options`, `imports` of logs, and `traffic` of captured networks."""
