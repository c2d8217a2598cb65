"""Where Spark's workers run another Python, one line says so, and what to set."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

from rosenblatt.engines.spark import wrong_python

FIT = """
import sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from rosenblatt import Perceptron
from rosenblatt.engines import fit_spark

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.createDataFrame([(1.0, 1), (-1.0, 0)], ["a", "label"])
try:
    fit_spark(Perceptron(), frame)
except RuntimeError as error:
    print("SAID", error)
spark.stop()
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in "
            "driver: 3.11, PySpark cannot run",
            "Spark's workers run Python 3.12, and this is 3.11",
        ),
        ("Traceback ...\nModuleNotFoundError: No module named 'pyarrow'\n", "has no module 'pyarrow'"),
        (
            'java.io.IOException: Cannot run program "python9": error=2',
            "Spark's workers cannot run 'python9'",
        ),
    ],
)
def test_the_wrong_python_is_named_with_the_way_out(text, said):
    found = wrong_python(text)
    assert said in found
    assert f"PYSPARK_PYTHON={sys.executable}" in found
    assert wrong_python("ValueError: X has the value nan") is None


@pytest.mark.skipif(
    not (find_spec("pyspark") and (shutil.which("java") or os.environ.get("JAVA_HOME"))),
    reason="needs pyspark and Java",
)
def test_a_fit_says_it_in_one_line():
    there = {**os.environ, "PYSPARK_PYTHON": "no-such-python", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", FIT], check=False, env=there, capture_output=True, text=True)
    said = [line for line in done.stdout.splitlines() if line.startswith("SAID")]
    assert len(said) == 1, done.stderr[-2000:]
    assert "cannot run 'no-such-python'" in said[0]
