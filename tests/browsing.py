"""A real Chromium without a window, as patient as a busy machine needs."""

import contextlib
import shutil

import pytest
from tests.patience import EVENT_MS


@contextlib.contextmanager
def chromium():
    """Start a Chromium, or skip the test where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine: install the chromium package to test the pages")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, headless=True, args=["--no-sandbox"], timeout=EVENT_MS
        )
        yield browser
        browser.close()


def window(browser, **options):
    """Return a window of its own, with its own cookies; whatever is waited for in it, is waited for patiently."""
    context = browser.new_context(**options)
    context.set_default_timeout(EVENT_MS)
    return context
