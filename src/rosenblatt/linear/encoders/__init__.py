"""From tables, text and curved data to vectors, with scikit-learn's manners."""

from rosenblatt.linear.encoders.attributes import Attributes
from rosenblatt.linear.encoders.bag_of_words import BagOfWords
from rosenblatt.linear.encoders.feature_map import FeatureMap

__all__ = ["Attributes", "BagOfWords", "FeatureMap"]
