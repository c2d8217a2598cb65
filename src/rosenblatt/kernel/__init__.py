"""The kernel perceptron with scikit-learn's manners."""

from rosenblatt.kernel.perceptron import KernelPerceptron

__all__ = ["KernelPerceptron"]
