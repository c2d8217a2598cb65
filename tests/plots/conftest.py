import matplotlib as mpl
import pytest


@pytest.fixture(autouse=True)
def no_display():
    """Every picture is drawn without a display, and its figure closed."""
    before = mpl.get_backend()
    mpl.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
    mpl.use(before)
