"""The protocols that the command knows.

`table` detects the protocol of some bytes and reads them; `reading` defines its rows and the result. The rows are
`batsim5`, `legacy` and `fast`.
"""
