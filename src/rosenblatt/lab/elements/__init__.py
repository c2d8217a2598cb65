"""The two drawing elements of the lab: the plane and the circuit."""
