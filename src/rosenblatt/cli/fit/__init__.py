"""Training behind ``rosenblatt fit``: in memory, out of core, or on an engine, with one report."""
