"""The compiled loop over examples, and its parts: rows, geometries, the ledger, the order of visits."""
