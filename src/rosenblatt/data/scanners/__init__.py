"""Compiled text scanners: bytes of whole lines in, arrays out."""
