"""Pages and their websocket are behind the same doors as the API, and do not get into its way."""

import pytest
from tests.cli.commands import run, run_well
from tests.mail.messages import letter, mbox
from tests.patience import SECONDS

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def connects(server, path=SOCKET, **headers):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    options = {
        "origin": headers.pop("origin", None),
        "additional_headers": headers,
        "open_timeout": SECONDS,
        "ping_interval": None,
    }
    try:
        with connect(server.address.replace("http", "ws", 1) + path, **options) as socket:
            return socket.recv(timeout=SECONDS).startswith("0{")  # what socket.io says first
    except InvalidStatus as refused:
        return refused.response.status_code


def test_the_websocket_takes_our_own_origin_and_no_other(taught):
    assert connects(taught, origin=taught.address) is True
    assert connects(taught) is True  # no browser
    for origin in ("http://evil.example", "null", taught.address + "0"):
        assert connects(taught, origin=origin) == 403, origin


def test_a_rebound_name_is_not_ours(taught):
    port = taught.address.rpartition(":")[2]
    evil = {"host": f"evil.example:{port}"}
    for path in ("/", "/model", SOCKET.replace("websocket", "polling")):
        assert taught.ask("GET", path, headers=evil).status_code == 421
    foreign = {"origin": "http://evil.example"}
    polling = SOCKET.replace("websocket", "polling")
    assert taught.ask("POST", polling, headers=foreign).status_code == 403


def test_pages_may_not_be_framed_and_load_nothing_from_elsewhere(taught):
    answer = taught.ask("GET", "/")
    assert answer.status_code == 200
    assert answer.headers["x-frame-options"] == "DENY"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def test_nicegui_draws_nothing_without_unsafe_eval(taught, visit):
    """Decision 19: where this fails, NiceGUI no longer needs it, and it has to leave the policy."""
    visitor = visit(taught, connected=False)

    def without_eval(route):
        answer = route.fetch()
        policy = answer.headers["content-security-policy"]
        assert " 'unsafe-eval'" in policy
        headers = {**answer.headers, "content-security-policy": policy.replace(" 'unsafe-eval'", "")}
        route.fulfill(response=answer, headers=headers)

    visitor.page.route(taught.address + "/", without_eval)
    with visitor.page.expect_event("pageerror") as error:
        visitor.page.goto(taught.address + "/")
    assert "unsafe-eval" in str(error.value)
    assert visitor.page.inner_text("body").strip() == ""
    visitor.troubles.clear()  # as expected
    for path in ("/v1/models", "/openapi.json", "/metrics"):  # what is no page of NiceGUI runs no script
        assert "default-src 'none'" in taught.ask("GET", path).headers["content-security-policy"]


def test_the_api_keeps_its_own_words_for_what_is_not_there(taught):
    for method, path, status in (
        ("GET", "/v1/nothing", 404),
        ("DELETE", "/v1/models", 405),
        ("POST", "/healthz", 405),
        ("GET", "/v1/models/nobody", 404),
    ):
        answer = taught.ask(method, path)
        assert answer.status_code == status, path
        assert answer.json()["message"]
    assert taught.ask("GET", "/healthz").json() == {"status": "alive"}


def test_with_tokens_a_page_asks_for_one_and_then_works(serve, visit, tmp_path, box_file, keep_picture):
    tokens = tmp_path / "tokens"
    tokens.write_text("feedback let-me-in-please-now-1\nread only-to-look-around-1\n")
    tokens.chmod(0o600)
    server = serve("--token-file", str(tokens))
    assert server.ask("GET", "/").status_code == 401
    assert connects(server, origin=server.address) == 403
    reader = {"authorization": "Bearer only-to-look-around-1"}
    assert server.ask("GET", "/", headers=reader).status_code == 403
    visitor = visit(server, connected=False)
    page = visitor.page
    page.goto(server.address + "/")
    page.get_by_label("Token").fill("let-me-in-please-now-1")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("No messages yet").wait_for()
    page.locator(".mail-empty input[type=file]").set_input_files(box_file)
    page.wait_for_function("document.querySelectorAll('.mail-row').length === 5")
    keep_picture(page, "signed-in")
    page.get_by_role("button", name="sign out").click()
    page.wait_for_url(f"{server.address}/sign-in")
    page.get_by_label("Token").wait_for()
    assert page.context.cookies() == []
    assert page.goto(server.address + "/").status == 401
    visitor.troubles = [each for each in visitor.troubles if "401" not in each]  # the browser notes it


def test_signing_out_ends_every_open_page_of_the_session(serve, visit, tmp_path, box_file):
    tokens = tmp_path / "tokens"
    tokens.write_text("let-me-in-please-now-1\n")
    tokens.chmod(0o600)
    server = serve("--token-file", str(tokens))
    visitor = visit(server, connected=False)
    page = visitor.page
    page.goto(server.address + "/")
    page.get_by_label("Token").fill("let-me-in-please-now-1")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("No messages yet").wait_for()
    page.locator(".mail-empty input[type=file]").set_input_files(box_file)
    page.wait_for_function("document.querySelectorAll('.mail-row').length === 5")
    other = page.context.new_page()
    other.goto(server.address + "/")
    other.get_by_role("button", name="sign out").click()
    other.get_by_label("Token").wait_for()
    page.keyboard.press("i")
    page.wait_for_function("!window.socket.connected")
    model = server.ask("GET", "/v1/models/inbox", headers={"authorization": "Bearer let-me-in-please-now-1"})
    assert model.json()["clock"] == 0
    visitor.troubles = []  # the browser notes that it was disconnected


def test_without_tokens_there_is_nothing_to_sign_out_of(serve, visit):
    server = serve()
    page = visit(server).page
    page.get_by_text("No messages yet").wait_for()
    assert page.get_by_role("button", name="sign out").count() == 0


@pytest.fixture(autouse=True)
def _needs_websockets():
    pytest.importorskip("websockets")


def test_commands_beside_a_running_server(taught, tmp_path):
    (tmp_path / "new.mbox").write_bytes(mbox([letter(300 + seed, seed % 2 == 0) for seed in range(4)]))
    data = ["--data", str(taught.folder)]
    lines = run_well(["mail", "sort", str(tmp_path / "new.mbox"), *data]).stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["Important", "Not"] * 2
    refused = run(
        ["mail", "import", str(tmp_path / "new.mbox"), "--important", "new", "--rest", "old", *data]
    )
    assert refused.exit_code == 2
    assert str(taught.folder) in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_broken_box_is_said_and_the_api_goes_on(serve, visit, tmp_path):
    (tmp_path / "store").mkdir(mode=0o700)
    (tmp_path / "store" / "mail.sqlite3").write_bytes(
        b"this is no database, and longer than a header of one is"
    )
    server = serve()
    page = visit(server).page
    assert "mail.sqlite3: cannot be opened" in page.locator(".mail-empty").inner_text()
    assert server.ask("PUT", "/v1/models/other").status_code == 201
