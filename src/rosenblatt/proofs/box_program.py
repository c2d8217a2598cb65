"""A linear program over a growing set of rows, kept warm in HiGHS.

**Problem.** ``max t`` subject to ``pᵢ·w + oᵢ ≥ t`` for the rows added so far, ``−1 ≤ w ≤ 1``, ``t ≤ 1``.
"""

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.proofs.cone import Float64s

TOLERANCE = 1e-9


class Optimum(NamedTuple):
    """What HiGHS said: to be checked, never to be trusted."""

    w: Float64s
    t: float
    duals: Float64s  # one weight >= 0 per row


class BoxProgram:
    """The program above; rows are added between solves, each of which starts where the last ended."""

    def __init__(self, dim: int) -> None:
        import highspy

        self.dim = dim
        self._highs: Any = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("primal_feasibility_tolerance", TOLERANCE)
        self._highs.setOptionValue("dual_feasibility_tolerance", TOLERANCE)
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("solver", "simplex")
        columns = dim + 1
        lower, upper = np.full(columns, -1.0), np.full(columns, 1.0)
        lower[-1] = -highspy.kHighsInf
        self._highs.addVars(columns, lower, upper)
        self._highs.changeColCost(dim, -1.0)  # minimise -t
        self._infinity = highspy.kHighsInf
        self.n_rows = 0

    def add(self, P: Any, offsets: Float64s) -> None:
        """Add rows ``P w − t ≥ −offsets``; ``P`` is dense or CSR."""
        import scipy.sparse as sp

        k = P.shape[0]
        rows = sp.hstack([sp.csr_array(P), sp.csr_array(np.full((k, 1), -1.0))], format="csr")
        rows.data[np.abs(rows.data) <= 1e-12] = 0.0  # HiGHS ignores smaller ones anyway
        rows.eliminate_zeros()
        starts, columns = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self._highs.addRows(k, -offsets, np.full(k, self._infinity), rows.nnz, starts, columns, rows.data)
        self.n_rows += k

    def reward_slack(self, P: Any) -> None:
        """Change the goal to ``max Σ pᵢ·w`` with ``t = 0``: a direction, even where no row can be strict."""
        self._highs.changeColBounds(self.dim, 0.0, 0.0)
        total = np.asarray(P.sum(axis=0)).ravel()
        total = total / (np.abs(total).max(initial=0.0) or 1.0)
        for column, reward in enumerate(total.tolist()):
            self._highs.changeColCost(column, -reward)
        self._highs.changeColCost(self.dim, 0.0)

    def solve(self, time_limit: float) -> Optimum | None:
        """Solve from the last basis; None where HiGHS does not call its answer optimal."""
        import highspy

        self._highs.setOptionValue("time_limit", min(self._highs.getRunTime() + time_limit, 1e9))
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        w = np.asarray(solution.col_value)
        return Optimum(w[:-1], float(w[-1]), np.maximum(np.asarray(solution.row_dual), 0.0))
