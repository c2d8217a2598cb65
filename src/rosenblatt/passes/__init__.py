"""The loop, compiled: the only hot loops of the project."""
