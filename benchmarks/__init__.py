"""Benchmarks: one file per question, each compared with the real peer on the same data in the same run."""
