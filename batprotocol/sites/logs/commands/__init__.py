"""`batproto import`: `command` has its options, `imports` reads logs, and `traffic` captured network traffic."""
