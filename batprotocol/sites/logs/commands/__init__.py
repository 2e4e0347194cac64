"""`batproto import`: `logs` opens logs and writes what is made of them, `report` prints what was taken.
`check` simulates the log as it was, and prints how good this copy is.
`traffic` makes recordings of captured network traffic."""
