"""A lab for a class: joined with a token, each visitor alone with pages of their own, within limits."""

import asyncio
import gzip
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from types import SimpleNamespace
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from tests.lab.conftest import SIZES, Visitor
from tests.lab.test_guard import SOCKET, status
from tests.patience import SECONDS

from rosenblatt.lab.app import Visitors
from rosenblatt.lab.guard import (
    BURST,
    EACH_SECOND,
    GUESSES,
    GUESSES_EACH,
    LARGEST_BODY,
    MOST_REMEMBERED,
    MOST_REQUESTS,
    MOST_SOCKETS,
    ClassRoom,
    NotJoined,
    OwnPagesOnly,
)
from rosenblatt.lab.learners import Fitted, PlaygroundState
from rosenblatt.lab.playground import PlaygroundSession
from rosenblatt.lab.points import edited, generated
from rosenblatt.lab.table import from_query
from rosenblatt.web.refusals import TooMany

VISITORS = 40


@pytest.fixture(scope="module")
def room():
    """A lab for a class, started as a lecturer starts it: its join link."""
    pytest.importorskip("nicegui")
    program = "from rosenblatt.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        program,
        "lab",
        "--host",
        "0.0.0.0",
        "--port",
        "0",
        "--no-open",
        "--pages",
        "240",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lab:
        line = lab.stdout.readline().strip()
        assert re.fullmatch(r"http://[\d.]+:\d+/join\?token=[a-z2-9]{8}", line)
        yield line
        lab.terminate()


def get(room, path, cookie=None, host=None, more=None):
    """Return status, headers and text of a page."""
    parts = urlsplit(room)
    line = HTTPConnection("127.0.0.1", parts.port, timeout=SECONDS)
    headers = {"Host": host or parts.netloc, **(more or {})}
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
    code, _, text = get(room, f"/join?token=wrong&next={quote('/game?role=A', safe='')}")
    assert code == 401
    assert "not the token of this lab" in text
    assert "value='/game?role=A'" in text  # where the right one leads
    assert "value='/'" in get(room, "/join?token=wrong&next=//evil.example")[2]
    address = urlsplit(room)
    assert status(f"http://127.0.0.1:{address.port}", SOCKET, address.netloc) in (401, 403)


@pytest.mark.parametrize(("theme", "dark"), [("light", False), ("dark", True)])
@pytest.mark.parametrize("size", SIZES)
def test_the_door_is_readable_and_leads_to_the_page_that_was_wanted(room, browser, theme, dark, size):
    visitor = Visitor(browser, room.partition("/join")[0], size=size, theme=theme)
    page = visitor.page
    page.goto(f"{visitor.address}/game?role=A")
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    paper, ink = ([int(value) for value in re.findall(r"\d+", colour)] for colour in page.evaluate(colours))
    assert (sum(paper) < sum(ink)) == dark
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for token in ("wrong", parse_qs(urlsplit(room).query)["token"][0]):
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        page.wait_for_load_state()
    page.wait_for_url("**/game?role=A")
    visitor.troubles = [said for said in visitor.troubles if "401" not in said]
    visitor.close()


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
    port = urlsplit(room).port
    for way, shared in (  # the lecturer's own browser; another name of the computer, as a proxy has it
        (address, address),
        (f"http://127.0.0.1:{port}", address),
        (f"http://127.0.0.2:{port}", f"http://127.0.0.2:{port}"),
    ):
        visitors.append(Visitor(browser, way))
        page = visitors[-1].page
        page.goto(f"{room.replace(address, way)}&next=/?n=30")
        page.wait_for_function("window.socket && window.socket.connected")
        page.evaluate("window.lab.copy = (text) => { window.copied = text; }")
        page.get_by_role("button", name="Share").click()
        visitors[-1].hear("opens for everybody who has joined")
        page.wait_for_function("window.copied")
        assert page.evaluate("window.copied") == f"{shared}/?n=30"
    for visitor in visitors:
        visitor.close()


def test_behind_a_proxy_on_this_computer_visitors_have_their_own_addresses(room):
    """One of them guesses tokens until that ends; another one joins."""
    wrong = {"X-Forwarded-For": "192.0.2.66"}
    answers = [get(room, "/join?token=wrong", more=wrong)[0] for _ in range(GUESSES_EACH + 1)]
    assert answers == [401] * GUESSES_EACH + [429]
    token = parse_qs(urlsplit(room).query)["token"][0]
    assert get(room, f"/join?token={token}", more=wrong)[0] == 429
    assert get(room, f"/join?token={token}", more={"X-Forwarded-For": "192.0.2.7"})[0] == 303


def test_a_visitor_has_so_many_pages_and_no_more(room):
    cookie = join(room)
    codes = [get(room, "/gates", cookie) for _ in range(7)]
    assert all("Truth table wanted" in text for _, _, text in codes[:6])
    assert "You have 6 pages of this lab open" in codes[6][2]
    assert "Truth table wanted" in get(room, "/gates", join(room))[2]


def test_guessing_tokens_ends_soon_and_keeps_nobody_else_out():
    room = ClassRoom("http://192.0.2.1:8137")
    for _ in range(GUESSES_EACH):
        with pytest.raises(NotJoined):
            room.admit("guess", "192.0.2.66", now=100.0)
    with pytest.raises(TooMany):
        room.admit(room.token, "192.0.2.66", now=101.0)
    assert room.admit(room.token, "192.0.2.7", now=101.0)
    cookie = room.admit(room.token.upper() + " ", "192.0.2.66", now=161.0).encode()
    assert room.visitor(b"theme=dark; rosenblatt_lab=" + cookie)
    with pytest.raises(NotJoined):
        ClassRoom("http://192.0.2.1:8137").visitor(b"rosenblatt_lab=" + cookie)
    for guess in range(GUESSES):
        with pytest.raises(NotJoined):
            room.admit("guess", f"192.0.2.{guess % 200}", now=300.0)
    with pytest.raises(TooMany):
        room.admit("guess", "198.51.100.1", now=301.0)


def test_a_full_lab_says_so():
    visitors = Visitors(ClassRoom("http://192.0.2.1:8137", most_pages=3, pages_each=2))
    for visitor, page in (("a", "1"), ("a", "2"), ("b", "3")):
        assert visitors.refusal(visitor, visitor, {"1", "2", "3"}) == ""
        visitors.enter(visitor, visitor, page)
    assert "You have 2 pages" in visitors.refusal("a", "a", {"1", "2", "3"})
    assert "full: 3 pages" in visitors.refusal("b", "b", {"1", "2", "3"})
    assert visitors.refusal("b", "b", {"2", "3"}) == ""  # one was closed


def test_one_address_does_not_take_all_pages():
    visitors = Visitors(ClassRoom("http://192.0.2.1:8137", most_pages=20, pages_each=2))
    pages = set()
    for number in range(10):  # who joins again and again is another visitor each time
        assert visitors.refusal(f"again {number}", "192.0.2.66", pages) == ""
        visitors.enter(f"again {number}", "192.0.2.66", str(number))
        pages.add(str(number))
    assert "from your address" in visitors.refusal("again 10", "192.0.2.66", pages)
    assert visitors.refusal("other", "192.0.2.7", pages) == ""


def test_a_visitor_who_has_computed_too_much_opens_no_page():
    visitors = Visitors(ClassRoom("http://192.0.2.1:8137", seconds=3.0))
    visitors.share("a", "192.0.2.66").add(100.0)
    assert "computes for others" in visitors.refusal("a", "192.0.2.66", set())
    assert visitors.refusal("b", "192.0.2.66", set()) == ""
    assert visitors.share("a", "192.0.2.66") is visitors.share("a", "192.0.2.66")
    assert visitors.share("b", "192.0.2.66").seconds == 3.0
    again = visitors.share("again", "192.0.2.66")  # the same person under another name
    other = visitors.share("other", "192.0.2.7")
    assert again.turn(0.0) > other.turn(0.0)


# Visitors who mean harm: the others go on


def come(room, browser, path):
    """Return a visitor who joined and opened a page."""
    visitor = Visitor(browser, room.partition("/join")[0])
    visitor.page.goto(f"{room}&next={quote(path, safe='')}")
    visitor.page.wait_for_function("window.socket && window.socket.connected")
    return visitor


def goes_on(visitor, steps=3):
    """Step, and see every step."""
    begun = int(visitor.query.get("clock", 0))
    for clock in range(begun + 1, begun + steps + 1):
        visitor.page.get_by_role("button", name="Step", exact=True).click()
        visitor.until(clock=clock)


def test_forty_visitors_step_at_once(room):
    """Each over a websocket of its own, all at the same time."""
    aiohttp = pytest.importorskip("aiohttp")
    pytest.importorskip("socketio")
    from benchmarks.lab import Visitor as Stepping

    async def visit(number):
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            visitor = Stepping(room, number)
            await visitor.come(session)
            for _ in range(3):
                await visitor.step()
            await visitor.socket.disconnect()
            return len(visitor.times)

    async def crowd():
        return await asyncio.wait_for(
            asyncio.gather(*(visit(number) for number in range(VISITORS))), timeout=SECONDS
        )

    with ThreadPoolExecutor(1) as other:  # Chromium's loop runs in this thread
        assert other.submit(asyncio.run, crowd()).result() == [3] * VISITORS


def test_a_flood_of_messages_and_messages_without_sense_stop_nobody_else(room, browser):
    honest, hostile = come(room, browser, "/?n=31"), come(room, browser, "/?n=32&data=overlapping")
    hostile.page.evaluate("""() => {
        const buttons = [...document.querySelectorAll('.lab-steps button')];
        const button = buttons.find(each => each.innerText.trim().endsWith('Step'));
        for (let k = 0; k < 3000; k++) button.click();
        const plane = getElement(Number(document.querySelector('.lab-plane').id.slice(1)));
        for (const sent of [null, 7, [], {}, {what: 'move'}, {what: 'add', x: 1e999, y: 'up', label: {}},
                            {what: 'erase', i: 1e9}, {what: 'move', i: -1, x: 0, y: 0, done: 'no'}])
            plane.$emit('edit', sent);
        emitEvent('lab_history', {query: 'clock=-1&n=x&' + 'points=a1_1'.repeat(900), page: 'x', at: 1e9});
        const raw = window.socket.io.engine;
        for (const text of ['42', '42[', '42["event"]', '42["event",{}]', '42["nothing",1]', '4' + '['.repeat(5000)])
            raw.write(text);
    }""")
    goes_on(honest)
    hostile.page.wait_for_function(
        "window.said.some(said => said.includes('are waiting') || said.includes('computes for others'))"
    )
    goes_on(honest)
    honest.close()
    hostile.context.close()
    again = come(room, browser, "/?n=33")
    goes_on(again)
    again.close()


def test_long_runs_end_and_stop_nobody_else(room, browser):
    honest = come(room, browser, "/?n=31")
    hostile = come(room, browser, "/?n=500&data=overlapping&noise=1&space=kernel-rbf&speed=7")
    hostile.page.get_by_role("button", name="Run").click()
    goes_on(honest, 5)
    hostile.until(clock=10_000)  # the most examples of a run in a kernel's space
    hostile.page.get_by_role("button", name="Run", disabled=True).wait_for()
    goes_on(honest)
    honest.close()
    hostile.close()


def test_hostile_uploads_are_refused_and_stop_nobody_else(room, browser, tmp_path):
    honest, hostile = come(room, browser, "/?n=31"), come(room, browser, "/?n=32")
    hostile.page.get_by_role("button", name="Upload CSV").click()
    hostile.page.get_by_text("goes to the lecturer's computer").wait_for()
    for name, content, told in (
        ("bomb.csv", gzip.compress(b"a,b,t\n" + b"1,2,yes\n" * 1_000_000), "the file is gzip"),
        ("wide.csv", b"a" + b",a" * 300_000 + b"\n", "300,001 columns"),
        ("open.csv", b'a,b,t\n"' + b"x" * 3_000_000, "never closes"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        hostile.page.set_input_files("input[type=file]", path)
        hostile.hear(told)
        goes_on(honest, 1)
    honest.close()
    hostile.close()
    parts, cookie = urlsplit(room), join(room)
    line = HTTPConnection("127.0.0.1", parts.port, timeout=SECONDS)
    line.putrequest("POST", "/_nicegui/client/x/upload/1", skip_host=True)
    for name, value in (("Host", parts.netloc), ("Cookie", cookie), ("Content-Length", str(1 << 40))):
        line.putheader(name, value)
    line.endheaders()
    assert line.getresponse().status == 413
    line.close()


class Client:
    """The messages that an application receives through the guard, and what is sent back."""

    def __init__(self, room, cookie):
        self.passed, self.sent = [], []
        self.guard = OwnPagesOnly(self.app, room)
        self.headers = [(b"host", b"192.0.2.1:8137"), (b"cookie", b"rosenblatt_lab=" + cookie.encode())]
        self.waiting = []

    async def app(self, scope, receive, send):
        while True:
            message = await receive()
            self.passed.append(message["type"])
            if message["type"].endswith("disconnect"):
                return

    async def ask(self, kind, messages):
        left = iter([*messages, {"type": f"{kind}.disconnect"}])

        async def receive():
            return next(left)

        async def send(message):
            self.sent.append(message)

        await self.guard(
            {"type": kind, "path": "/", "headers": self.headers, "method": "POST"}, receive, send
        )


def test_a_body_without_a_declared_length_ends_where_it_is_too_large():
    room = ClassRoom("http://192.0.2.1:8137")
    client = Client(room, room.admit(room.token, "192.0.2.7", now=1.0))
    pieces = [{"type": "http.request", "body": b"x" * (1 << 20), "more_body": True}] * 100
    asyncio_in_a_thread(client.ask("http", pieces))
    assert client.passed == ["http.request"] * (LARGEST_BODY >> 20) + ["http.disconnect"]


def test_messages_beyond_the_rate_wait(monkeypatch):
    room = ClassRoom("http://192.0.2.1:8137")
    client = Client(room, room.admit(room.token, "192.0.2.7", now=1.0))
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr("rosenblatt.lab.guard.asyncio.sleep", sleep)
    monkeypatch.setattr("rosenblatt.lab.guard.time.monotonic", lambda: 5.0)
    small, large = (
        {"type": "websocket.receive", "text": "x"},
        {"type": "websocket.receive", "text": "x" * 200_000},
    )
    asyncio_in_a_thread(client.ask("websocket", [small] * int(BURST - 10)))
    assert slept == []
    asyncio_in_a_thread(client.ask("websocket", [small] * 100))
    assert slept[-1] == pytest.approx(90 / EACH_SECOND, rel=0.01)
    before = slept[-1]
    asyncio_in_a_thread(client.ask("websocket", [large]))  # counts by its length too
    assert slept[-1] == pytest.approx(before + 21 / EACH_SECOND, rel=0.01)
    assert client.passed.count("websocket.receive") == int(BURST - 10) + 101


def test_one_visitor_does_not_hold_all_connections():
    room = ClassRoom("http://192.0.2.1:8137")
    traffic = room.traffic("a")
    for kind, most in (("websocket", MOST_SOCKETS), ("http", MOST_REQUESTS)):
        for _ in range(most):
            traffic.enter(kind)
        with pytest.raises(TooMany):
            traffic.enter(kind)
        room.traffic("b").enter(kind)
    for number in range(3 * MOST_REMEMBERED):  # who joins again and again fills no memory
        room.traffic(f"again {number}")
    assert len(room._traffic) <= MOST_REMEMBERED + 2
    assert room.traffic("a") is traffic


def asyncio_in_a_thread(coroutine):
    """Run a coroutine where no other loop runs."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, coroutine).result()


def test_a_class_has_three_seconds_for_a_search(monkeypatch):
    limits = []

    def undecided(*arguments, time_limit=None, **options):
        limits.append(time_limit)
        return SimpleNamespace()  # neither separable nor inseparable

    monkeypatch.setattr("rosenblatt.lab.insight.separability", undecided)
    room = ClassRoom("http://192.0.2.1:8137")
    share = Visitors(room).share("a", "192.0.2.66")
    session = PlaygroundSession(PlaygroundState(n=20, proof=True, learner="max-margin"), share=share)
    assert session.insight.answer() == "Not decided within 3 s."
    assert limits == [3.0]
    assert session.fitted.seconds == 3.0

    def late(self, X, y):
        assert self.time_limit == 3.0
        if self.C is None:
            raise ValueError("no separating hyperplane was found within the time limit")
        return self

    monkeypatch.setattr("rosenblatt.MaxMargin.fit", late)
    fitted = Fitted("max-margin", session.state, session.X, session.y, seconds=3.0)
    assert fitted.note == "No hard margin found within 3 s: C = 1."


def test_a_plane_holds_five_hundred_points():
    points = generated("xor", 500, 0.3, 0.3, 0)
    with pytest.raises(ValueError, match="holds 500 points"):
        edited(points, "add", x=0.0, y=0.0, label=1)
    _, problems = from_query(PlaygroundState, {"points": "a1_1" * 501, "n": "501", "clock": "100001"})
    assert len(problems) == 3
