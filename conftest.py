"""Settings for the whole test run."""

import os

# scikit-learn runs its array API checks only where scipy was told to expect such arrays.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
