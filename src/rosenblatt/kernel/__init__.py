"""The kernel perceptron as a scikit-learn estimator."""

from rosenblatt.kernel.perceptron import KernelPerceptron

__all__ = ["KernelPerceptron"]
