"""``rosenblatt serve`` and ``store`` as processes: they refuse in words, drain, and leave what they should."""

import contextlib
import json
import re
import signal
import subprocess
import sys

import httpx
import pytest
from tests.cli.commands import run, run_well
from tests.patience import SECONDS

from rosenblatt.service.schemas import Example
from rosenblatt.service.writer import LocalModels

ask = httpx.Client(timeout=SECONDS)
MAIN = "from rosenblatt.cli import main; main()"


@pytest.fixture(autouse=True, scope="module")
def closed():
    yield
    ask.close()


@contextlib.contextmanager
def serving(folder, *options):
    """Run the command until the end of the block; yields the process and its address."""
    command = [
        sys.executable,
        "-c",
        MAIN,
        "serve",
        "--no-pages",
        "--port",
        "0",
        "--data",
        str(folder),
        *options,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, re.search(r"http://\S+", line)[0]
    finally:
        process.kill()
        process.communicate()


def test_a_server_drains_and_snapshots_when_told_to_stop(tmp_path):
    with serving(tmp_path, "--log-requests") as (process, url):
        ask.put(f"{url}/v1/models/m").raise_for_status()
        told = {"text": "hello", "label": "a"}
        ask.post(f"{url}/v1/models/m/feedback", json=told, headers={"x-request-id": "r-1"}).raise_for_status()
        process.send_signal(signal.SIGTERM)
        _, logs = process.communicate()
        assert process.returncode == 0
    lines = [json.loads(line) for line in logs.splitlines()]
    assert {"time", "level", "message"} <= set.intersection(*(set(line) for line in lines))
    assert any(line.get("request_id") == "r-1" and line["status"] == 200 for line in lines)
    models = LocalModels(tmp_path)
    assert (models.replayed, models.info("m").clock) == (0, 1)
    models.close()


def test_a_killed_server_leaves_all_that_it_acknowledged(tmp_path):
    with serving(tmp_path) as (process, url):
        ask.put(f"{url}/v1/models/m").raise_for_status()
        for at in range(5):
            ask.post(
                f"{url}/v1/models/m/feedback", json={"vector": [at], "label": "ab"[at % 2]}
            ).raise_for_status()
        process.kill()
        process.wait()
    models = LocalModels(tmp_path)
    assert (models.replayed, models.info("m").clock) == (5, 5)
    models.close()


def test_a_second_server_on_one_store_refuses(tmp_path):
    with serving(tmp_path) as (process, url):
        second = run(["serve", "--data", str(tmp_path), "--port", "0"])
        assert second.exit_code == 2
        assert f"another process ({process.pid}) has this store open" in second.stderr
        checked = run(["serve", "--data", str(tmp_path), "--port", "0", "--check"])
        assert checked.exit_code == 2
        assert ask.get(f"{url}/readyz").status_code == 200


def test_a_port_that_is_taken_is_named(tmp_path):
    with serving(tmp_path / "one") as (_, url):
        port = url.rpartition(":")[2]
        answer = run(["serve", "--data", str(tmp_path / "two"), "--port", port])
        assert answer.exit_code == 2
        assert f"cannot listen on 127.0.0.1:{port}" in answer.stderr
        LocalModels(tmp_path / "two").close()  # and the store was let go


def test_a_check_says_how_things_stand(tmp_path):
    models = LocalModels(tmp_path)
    models.create("mail")
    models.learn("mail", [(Example(text="hello"), "a")])
    models.close()
    (tmp_path / "tokens").write_text("read 0123456789abcdef\nadmin fedcba9876543210\n")
    (tmp_path / "tokens").chmod(0o600)
    options = ["--data", str(tmp_path), "--port", "0", "--check"]
    text = run_well(["serve", *options]).stdout
    assert "mail: 1 examples" in text
    assert "none: everybody on this machine" in text
    told = json.loads(
        run_well(["serve", *options, "--token-file", str(tmp_path / "tokens"), "--json"]).stdout
    )
    assert told["tokens"] == "admin, read"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--host", "0.0.0.0"], "give a --token-file"),
        (["--host", "no.such.host.invalid", "--token-file", "TOKENS"], "cannot listen on"),
        (["--token-file", "nowhere"], "nowhere"),
        (["--tls-cert", "nowhere"], "belong together"),
        (["--tls-cert", "nowhere", "--tls-key", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_served_is_refused_in_words(tmp_path, options, reason):
    (tmp_path / "tokens").write_text("0123456789abcdef\n")
    (tmp_path / "tokens").chmod(0o600)
    options = [str(tmp_path / "tokens") if option == "TOKENS" else option for option in options]
    answer = run(["serve", "--data", str(tmp_path / "store"), "--port", "0", "--check", *options])
    assert answer.exit_code == 2
    assert reason in answer.stderr or reason in str(answer.exception)
    assert "internal error" not in answer.stderr


def test_the_store_is_verified_compacted_and_exported(tmp_path):
    models = LocalModels(tmp_path)
    for name in ("one", "two"):
        models.create(name)
        models.learn(name, [(Example(text=f"{word} {name}"), label) for word, label in ("xa", "yb", "za")])
    models.close()
    data = ["--data", str(tmp_path)]
    told = json.loads(run_well(["store", "verify", *data, "--json"]).stdout)
    assert [each["feedbacks"] for each in told["models"]] == [3, 3]
    assert "no damage found" in run_well(["store", "verify", *data]).stdout
    lines = run_well(["store", "export", *data, "--model", "one"]).stdout.splitlines()
    assert json.loads(lines[0]) == {"label": "a", "features": {"text:x": 1.0, "text:one": 1.0}}
    run_well(["store", "export", *data, "--model", "two", "-o", str(tmp_path / "out")])
    assert len((tmp_path / "out").read_text().splitlines()) == 3
    unnamed = run(["store", "export", *data])
    assert unnamed.exit_code == 2
    assert "one, two" in unnamed.stderr
    assert "6 feedbacks" in run_well(["store", "compact", *data]).stdout
    assert run_well(["store", "export", *data, "--model", "one"]).stdout == ""


WHAT_A_SERVER_NEEDS = """
import sys, tempfile
from pathlib import Path
from rosenblatt.service.schemas import Example
from rosenblatt.service.writer import LocalModels
from rosenblatt.service.server import server
from rosenblatt.web.settings import Settings
folder = tempfile.mkdtemp()
models = LocalModels(folder)
server(Settings(data=Path(folder), pages=False), models)
models.create("m")
models.learn("m", [(Example(text=text), text) for text in ("a", "b")])
models.explain("m", Example(text="a"))
models.close()
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_a_server_imports_neither_scikit_learn_nor_what_pages_need():
    told = subprocess.run(
        [sys.executable, "-c", WHAT_A_SERVER_NEEDS], capture_output=True, text=True, check=True
    )
    assert not {"sklearn", "pandas", "matplotlib", "nicegui", "pickle5"} & set(told.stdout.split())


def test_damage_is_an_exit_code(tmp_path):
    models = LocalModels(tmp_path)
    models.create("m")
    models.learn("m", [(Example(text="hello"), "a")])
    models.close()
    [file] = (tmp_path / "snapshots").glob("*.safetensors")
    file.write_bytes(b"nonsense")
    answer = run(["store", "verify", "--data", str(tmp_path)])
    assert answer.exit_code == 1
    assert f"snapshot {file.name} is damaged" in answer.stdout


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    for action in ("verify", "compact", "export"):
        answer = run(["store", action, "--data", str(tmp_path / "nowhere")])
        assert answer.exit_code == 2
        assert "there is no store" in answer.stderr
    assert not (tmp_path / "nowhere").exists()
