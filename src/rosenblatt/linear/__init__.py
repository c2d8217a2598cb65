"""The linear family with scikit-learn's manners: thin estimators over the learner."""
