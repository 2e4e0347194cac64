"""`batproto conformance`: `conformance` has its parameters, `checking` tests the component and prints the report."""
