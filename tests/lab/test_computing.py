"""What a page asks for is computed beside the event loop, in turns between visitors."""

import subprocess
import sys
import threading

import pytest
from tests.lab.conftest import Visitor
from tests.patience import SECONDS

from rosenblatt.lab.computing import ADVANCE, RATE, Computing, Share

# A lab whose sessions note who calls them: one line for every function and thread, written when it is first called.
WATCHED = """
import functools, inspect, sys, threading, time
from pathlib import Path
import rosenblatt.lab.app as app
from rosenblatt.lab import frame, game, gates, insight, learners, networks, playground, scene, upload

log, gate, seen, serving = Path(sys.argv[1]), Path(sys.argv[2]), set(), []
READ_ON_THE_LOOP = {"link", "pending"}  # a reference or a flag

def noted(name, function):
    @functools.wraps(function)
    def call(*arguments, **options):
        where = "loop" if threading.current_thread() is threading.main_thread() else "thread"
        if serving and (name, where) not in seen:
            seen.add((name, where))
            with log.open("a") as file:
                file.write(f"{where} {name}\\n")
        return function(*arguments, **options)
    return call

owners = [playground.PlaygroundSession, learners.Training, learners.Fitted, insight.Insight, upload.Uploaded]
owners += [game.GameSession, game.LearningB, game.AdversaryA, game.Referee]
owners += [gates.GatesSession, networks.NetworksSession]
for owner in owners:
    for name, value in list(vars(owner).items()):
        if name in READ_ON_THE_LOOP or name.startswith("__") and name != "__init__":
            continue
        title = f"{owner.__name__}.{name}"
        if inspect.isfunction(value):
            setattr(owner, name, noted(title, value))
        elif isinstance(value, classmethod):
            setattr(owner, name, classmethod(noted(title, value.__func__)))
        elif isinstance(value, property):
            setattr(owner, name, property(noted(title, value.fget)))
for module in (playground, game, gates, networks):
    for name, value in list(vars(module).items()):
        heavy = name in ("charts", "ledger_table", "losses_table", "_charts", "_errors", "_truth")
        if heavy and inspect.isfunction(value):
            setattr(module, name, noted(f"{module.__name__.rpartition('.')[2]}.{name}", value))

for page in (playground.PlaygroundPage, game.GamePage, gates.GatesPage, networks.NetworksPage):
    page.code = staticmethod(noted(f"{page.__name__}.code", page.code))

fit = learners.Fitted._fit
def held(self, **more):
    if self.name == "max-margin" and self.state.n == 123:
        while not gate.exists():
            time.sleep(0.01)
    return fit(self, **more)
learners.Fitted._fit = held
original = app.serve
def serve(*arguments):
    serving.append(True)
    original(*arguments)
app.serve = serve
from rosenblatt.cli import main
sys.argv = ["rosenblatt", "lab", "--port", "0", "--no-open"]
main()
"""


@pytest.fixture
def watched(tmp_path):
    """Address of a lab that notes who calls its sessions, the log of it, and the file that ends a long search."""
    pytest.importorskip("nicegui")
    log, gate = tmp_path / "log", tmp_path / "gate"
    command = [sys.executable, "-c", WATCHED, str(log), str(gate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lab:
        try:
            yield lab.stdout.readline().strip(), log, gate
        finally:
            lab.terminate()


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def test_no_page_computes_on_the_event_loop(watched, browser, tmp_path):
    address, log, _ = watched
    table = tmp_path / "table.csv"
    table.write_text("a,b,t\n" + "".join(f"{k % 7},{k % 5},{'yn'[k % 2]}\n" for k in range(60)))
    visitor = Visitor(browser, address)
    page = visitor.open("/?n=30&data=overlapping&proof=yes&test=20")
    for name in ("Step", "Update", "Epoch", "Back", "Restart", "Draw others", "Is it separable?"):
        press(page, name)
    visitor.until(proof=None, seed=1)
    press(page, "Run")
    page.wait_for_function("Number(new URL(location.href).searchParams.get('clock')) > 3")
    press(page, "Pause")
    with page.expect_download():
        press(page, "Ledger as CSV")
    press(page, "Export")
    page.get_by_role("button", name="Code, .py").wait_for()
    press(page, "Close")
    press(page, "Upload CSV")
    page.set_input_files("input[type=file]", table)
    press(page, "Use these columns")
    visitor.until(data="own")
    page.get_by_role("button", name="Put +1").click()
    visitor.until(tool="plus")
    page.locator(".lab-plane svg").first.click(position={"x": 300, "y": 40})
    page.wait_for_function("document.querySelector('.lab-status').textContent.includes('61 points')")
    for query in (
        "/?learner=logistic",
        "/?learner=batch",
        "/?space=kernel-rbf&n=20",
        "/?hypothesis=pocket&clock=90",
    ):
        page = visitor.open(query)
        press(page, "Step")
        page.wait_for_function("new URL(location.href).searchParams.has('clock')")
    visitor.open("/?beside=perceptron.max-margin.centroid.gaussian.naive-bayes&clock=9")
    page = visitor.open("/game")
    for name in ("Round", "To the end", "Back", "New game"):
        press(page, name)
    page = visitor.open("/game?role=A")
    page.locator(".lab-plane svg").first.click(position={"x": 300, "y": 300})
    visitor.open("/game?role=B&guesses=10_20")
    page = visitor.open("/gates")
    for name in ("Learn one row", "Learn until clean", "Can one unit do it?", "NAND"):
        press(page, name)
    page.wait_for_function("new URL(location.href).searchParams.has('wiring')")
    for path in ("/gates", "/game", "/networks"):
        page = visitor.open(path)
        press(page, "Export")
        page.get_by_role("button", name="Code, .py").wait_for()
    visitor.open("/networks?data=parity-4")
    visitor.open("/networks?data=moons&builder=upstart")
    page = visitor.open("/networks?data=xor&builder=backpropagation&iterations=3")
    press(page, "Step")
    visitor.until(iterations=4)
    visitor.close()
    calls = [line.split() for line in log.read_text().splitlines()]
    assert [name for where, name in calls if where == "loop"] == []
    called = {name for _, name in calls}
    assert {
        "PlaygroundSession.__init__",
        "PlaygroundSession.edit",
        "PlaygroundSession.advance",
        "PlaygroundSession.beside",
        "PlaygroundSession.ledger_csv",
        "Training.to",
        "Training._after_whole_passes",
        "Fitted._fitted",
        "Fitted.path",
        "Insight._prove",
        "Uploaded.read",
        "Uploaded.points",
        "AdversaryA.present",
        "GameSession.present",
        "GatesSession.learn_all",
        "GatesSession.network_scenes",
        "NetworksSession._build",
        "NetworksSession._follow",
        "PlaygroundPage.code",
        "GamePage.code",
        "GatesPage.code",
        "NetworksPage.code",
        "playground.charts",
    } <= called


def test_others_step_while_a_long_search_is_made(watched, browser):
    """The search ends only when the other visitor has done what needs the event loop."""
    address, _, gate = watched
    slow, other = Visitor(browser, address), Visitor(browser, address)
    page = slow.open("/?n=123&data=overlapping")
    other.open("/?n=40")
    page.get_by_label("Learner", exact=True).click()
    page.get_by_role("option", name="Largest margin").click()
    for clock in range(1, 6):
        press(other.page, "Step")
        other.until(clock=clock)
    assert "learner" not in slow.query
    gate.touch()
    slow.until(learner="max-margin")
    slow.close()
    other.close()


# Threads and shares


def test_who_has_used_least_comes_first():
    computing, gate, order = Computing(1, "test"), threading.Event(), []
    shares = {"greedy": Share(), "modest": Share(), "idle": Share()}
    shares["greedy"].add(200.0)
    shares["modest"].add(100.0)
    held = computing.submit(Share(), lambda: gate.wait(SECONDS))
    names = ("greedy", "greedy", "modest", "idle")
    later = [computing.submit(shares[name], lambda name=name: order.append(name)) for name in names]
    gate.set()
    for future in (held, *later):
        future.result(SECONDS)
    assert order == ["idle", "modest", "greedy", "greedy"]


def test_nobody_has_two_threads_at_once():
    computing, one, other = Computing(4, "test"), Share(), Share()
    gate, running = threading.Event(), []

    def hold(name):
        running.append(name)
        assert gate.wait(SECONDS)

    jobs = [computing.submit(one, lambda: hold("one")) for _ in range(5)]
    computing.submit(other, lambda: None).result(SECONDS)  # there is a thread for others
    assert running == ["one"]
    gate.set()
    for job in jobs:
        job.result(SECONDS)
    assert running == ["one"] * 5


def test_an_address_has_half_of_the_threads_under_however_many_names():
    computing, address, gate, running = Computing(4, "test"), Share(), threading.Event(), []

    def hold():
        running.append("hold")
        assert gate.wait(SECONDS)

    jobs = [computing.submit(Share(address=address), hold) for _ in range(6)]
    others = [computing.submit(Share(address=Share()), lambda: None) for _ in range(3)]
    for job in others:
        job.result(SECONDS)
    assert running == ["hold"] * 2
    gate.set()
    for job in jobs:
        job.result(SECONDS)
    assert running == ["hold"] * 6


def test_of_two_addresses_the_one_that_has_used_less_comes_first():
    """Also where the other one joined again, and so has used nothing under its new name."""
    computing, gate, order = Computing(1, "test"), threading.Event(), []
    greedy, modest = Share(), Share()
    Share(address=greedy).add(100.0)
    used = Share(address=modest)
    used.add(50.0)
    held = computing.submit(Share(), lambda: gate.wait(SECONDS))
    later = [
        computing.submit(Share(address=greedy), lambda: order.append("greedy")),
        computing.submit(used, lambda: order.append("modest")),
    ]
    gate.set()
    for future in (held, *later):
        future.result(SECONDS)
    assert order == ["modest", "greedy"]


def test_an_error_and_a_cancelled_job_leave_the_threads_working():
    computing, gate, share = Computing(1, "test"), threading.Event(), Share()
    held = computing.submit(share, lambda: gate.wait(SECONDS))
    cancelled, wrong, right = (
        computing.submit(share, function) for function in (lambda: 1, lambda: 1 // 0, lambda: 3)
    )
    assert cancelled.cancel()
    gate.set()
    assert held.result(SECONDS)
    with pytest.raises(ZeroDivisionError):
        wrong.result(SECONDS)
    assert right.result(SECONDS) == 3
    assert computing.submit(share, threading.current_thread).result(SECONDS) is not threading.current_thread()


def test_a_share_is_used_up_and_comes_back():
    share = Share(limited=True)
    share.add(ADVANCE, now=10.0)
    assert not share.allowed(now=10.0)
    assert share.allowed(now=10.0 + 0.1 / RATE)
    assert share.spent(now=1e9) == 0.0
    alone = Share()
    alone.add(1e6, now=10.0)
    assert alone.allowed(now=10.0)
