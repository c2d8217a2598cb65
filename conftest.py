"""Settings for the whole test run."""

import contextlib
import os

# scikit-learn runs its array API checks only where scipy was told to expect such arrays.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# What a test states holds on a slow machine too: no example takes too long, neither to make nor to check.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any machine")
