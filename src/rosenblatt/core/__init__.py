"""The compiled loop over examples, and what it stands on: rows, geometries, the ledger, orders of visits."""
