"""Signing in, in a real browser: the page asks for a token, a wrong one stays out, a right one comes in."""

import pytest
from tests.browsing import chromium, window
from tests.service.server import served

TOKEN = "0123456789abcdef"


@pytest.fixture
def page():
    with chromium() as browser:
        yield window(browser).new_page()


def test_a_person_signs_in(tmp_path, page):
    with served(tmp_path / "store", tokens=(("admin", TOKEN),)) as service:
        page.goto(f"{service.url}/v1/models")
        assert "a token is needed" in page.content()
        page.goto(f"{service.url}/")
        page.get_by_label("Token").fill("not the token")
        page.get_by_role("button", name="Sign in").click()
        assert "not known here" in page.get_by_role("alert").inner_text()
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{service.url}/")
        assert page.evaluate("document.cookie") == ""  # scripts cannot read it
        page.goto(f"{service.url}/v1/models")
        assert '"models":[]' in page.content()
