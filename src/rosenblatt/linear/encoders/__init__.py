"""Transformers from tables, text and nonlinear features to vectors, with the scikit-learn interface."""

from rosenblatt.linear.encoders.attributes import Attributes
from rosenblatt.linear.encoders.bag_of_words import BagOfWords
from rosenblatt.linear.encoders.feature_map import FeatureMap

__all__ = ["Attributes", "BagOfWords", "FeatureMap"]
