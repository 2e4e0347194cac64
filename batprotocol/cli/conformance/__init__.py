"""`batproto conformance`: `command` has its parameters, `checking` tests the component and prints the report."""
