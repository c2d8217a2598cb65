"""Compiled loops that only proofs use."""
