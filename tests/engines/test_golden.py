"""Mixed models are those of the record: the same mistakes, and the same weights up to the last bits."""

import json

import numpy as np
import pytest
from tests.engines.golden import RECORD, models, summary_of


def test_mixed_models_are_those_of_the_record():
    recorded = json.loads(RECORD.read_text())
    seen = set()
    for key, model in models():
        seen.add(key)
        own, golden = summary_of(model), recorded[key]
        rtol = 1e-4 if "float32" in key else 1e-9
        for name in ("coef", "intercept"):
            np.testing.assert_allclose(
                own[name], golden[name], rtol=rtol, atol=rtol, err_msg=f"{key}: {name}"
            )
        assert own.get("mistakes") == golden.get("mistakes"), key
        assert own.get("mixed") == pytest.approx(golden.get("mixed")), key
    assert seen == set(recorded)
