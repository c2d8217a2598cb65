"""Searches for a separating hyperplane or a contradiction: a portfolio of solvers whose answers are checked exactly."""
