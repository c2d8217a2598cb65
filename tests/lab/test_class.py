"""A lab for a class: joined with a token, each visitor alone with pages of their own, within limits."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.lab.conftest import Visitor
from tests.lab.test_guard import SOCKET, status
from tests.patience import SECONDS

from rosenblatt.lab.app import Visitors
from rosenblatt.lab.guard import GUESSES, ClassRoom, NotJoined
from rosenblatt.web.refusals import TooMany

VISITORS = 40


@pytest.fixture(scope="module")
def room():
    """A lab for a class, started as a lecturer starts it: its join link."""
    pytest.importorskip("nicegui")
    program = "from rosenblatt.cli import main; main()"
    command = [sys.executable, "-c", program, "lab", "--host", "0.0.0.0", "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lab:
        line = lab.stdout.readline().strip()
        assert re.fullmatch(r"http://[\d.]+:\d+/join\?token=[a-z2-9]{8}", line)
        yield line
        lab.terminate()


def get(room, path, cookie=None, host=None):
    """Return status, headers and text of a page."""
    parts = urlsplit(room)
    line = HTTPConnection("127.0.0.1", parts.port, timeout=SECONDS)
    headers = {"Host": host or parts.netloc}
    if cookie:
        headers["Cookie"] = cookie
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    told = answer.status, dict(answer.getheaders()), answer.read().decode()
    line.close()
    return told


def join(room, path="/"):
    """Return the cookie of a new visitor."""
    token = parse_qs(urlsplit(room).query)["token"][0]
    code, headers, _ = get(room, f"/join?token={token}&next={path}")
    assert code == 303
    assert headers["location"] == path
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert token not in cookie
    return cookie.partition(";")[0]


def test_nothing_is_shown_to_who_has_not_joined(room):
    code, _, text = get(room, "/game?role=A")
    assert code == 401
    assert "asks for its token" in text
    assert "value='/game?role=A'" in text
    for path in ("/_nicegui/auto/static/nicegui.js", "/gates", "/lessons"):
        assert get(room, path)[0] == 401
    assert get(room, "/", cookie="rosenblatt_lab=0123.abcd")[0] == 401
    assert get(room, "/join?token=wrong")[0] == 401
    address = urlsplit(room)
    assert status(f"http://127.0.0.1:{address.port}", SOCKET, address.netloc) in (401, 403)


def test_a_foreign_name_is_refused_even_with_the_cookie(room):
    cookie = join(room)
    assert get(room, "/", cookie)[0] == 200
    assert get(room, "/", cookie, host="evil.example")[0] == 421
    token = parse_qs(urlsplit(room).query)["token"][0]
    assert get(room, f"/join?token={token}&next=//evil.example")[1]["location"] == "/"


def test_forty_visitors_have_a_state_each(room):
    def came(number):
        cookie = join(room)
        return get(room, f"/?n={20 + number}&clock={number}", cookie)

    with ThreadPoolExecutor(VISITORS) as crowd:
        answers = list(crowd.map(came, range(1, VISITORS + 1)))
    for number, (code, _, text) in enumerate(answers, start=1):
        assert code == 200
        assert set(re.findall(r"(\d+) points:", text)) == {str(20 + number)}
        assert set(re.findall(r"(\d+) seen", text)) == {str(number)}


def test_the_join_link_opens_a_page_and_share_names_the_class(room, browser):
    address = room.partition("/join")[0]
    visitors = [Visitor(browser, address) for _ in range(2)]
    for number, visitor in enumerate(visitors):
        visitor.page.goto(f"{room}&next=/?n={30 + number}")
        visitor.page.wait_for_function("window.socket && window.socket.connected")
        visitor.page.get_by_role("button", name="Step", exact=True).click()
        visitor.until(clock=1, n=30 + number)
        assert "token" not in visitor.page.url
    page = visitors[0].page
    page.evaluate("window.lab.copy = (text) => { window.copied = text; }")
    page.get_by_role("button", name="Share").click()
    visitors[0].hear("opens for everybody who has joined")
    assert page.evaluate("window.copied").startswith(address + "/?")
    for visitor in visitors:
        visitor.close()


def test_a_visitor_has_so_many_pages_and_no_more(room):
    cookie = join(room)
    codes = [get(room, "/gates", cookie) for _ in range(7)]
    assert all("Truth table wanted" in text for _, _, text in codes[:6])
    assert "You have 6 pages of this lab open" in codes[6][2]
    assert "Truth table wanted" in get(room, "/gates", join(room))[2]


def test_guessing_tokens_ends_soon():
    room = ClassRoom("http://192.0.2.1:8137")
    for _ in range(GUESSES):
        with pytest.raises(NotJoined):
            room.admit("guess", now=100.0)
    with pytest.raises(TooMany):
        room.admit(room.token, now=101.0)
    cookie = room.admit(room.token.upper() + " ", now=161.0).encode()
    assert room.visitor(b"theme=dark; rosenblatt_lab=" + cookie)
    with pytest.raises(NotJoined):
        ClassRoom("http://192.0.2.1:8137").visitor(b"rosenblatt_lab=" + cookie)


def test_a_full_lab_says_so():
    visitors = Visitors(ClassRoom("http://192.0.2.1:8137", most_pages=3, pages_each=2))
    for visitor, page in (("a", "1"), ("a", "2"), ("b", "3")):
        assert visitors.refusal(visitor, {"1", "2", "3"}) == ""
        visitors.enter(visitor, page)
    assert "You have 2 pages" in visitors.refusal("a", {"1", "2", "3"})
    assert "full: 3 pages" in visitors.refusal("b", {"1", "2", "3"})
    assert visitors.refusal("b", {"2", "3"}) == ""  # one was closed
