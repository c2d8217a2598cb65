"""Take the pictures of the lab, of the mail filter and of a report into ``docs/images``: ``make screenshots``."""

import io
import mailbox
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parent / "images"
COLOURS = 256  # of a picture: its file is half as large, and looks the same
SIZES = {1440: 900, 390: 844}
IMPORTANT = [
    (
        "Ann Miller <ann@work.example>",
        "Q3 budget: decision needed by Friday",
        "The deadline for the budget is Friday. Please decide.",
    ),
    (
        "Bob Rossi <bob@work.example>",
        "Contract for your signature",
        "The contract was reviewed. Your signature is missing.",
    ),
    (
        "Ann Miller <ann@work.example>",
        "Re: meeting on Tuesday",
        "The review meeting moves to Tuesday. Can you decide by then?",
    ),
    (
        "School office <office@school.example>",
        "Parents' evening",
        "Please sign the form for the parents' evening by Friday.",
    ),
]
ORDINARY = [
    (
        "Shop <news@shop.example>",
        "Great sale: 40% off everything",
        "Discount on everything! Unsubscribe: http://shop.example/u",
    ),
    (
        "Weekly digest <digest@forum.example>",
        "14 new posts this week",
        "New posts in the forum. Unsubscribe here: http://forum.example/u",
    ),
    (
        "Prize centre <win@prize.example>",
        "You are a winner!",
        "Claim your prize now! Click: http://prize.example/claim",
    ),
    (
        "Shop <news@shop.example>",
        "Your bargain of the day",
        "A bargain for you, discount inside! Unsubscribe: http://shop.example/u",
    ),
]
ANYWHERE = [
    "river",
    "table",
    "green",
    "window",
    "cloud",
    "paper",
    "garden",
    "music",
    "bread",
    "stone",
    "light",
    "coffee",
    "train",
    "summer",
    "lunch",
]
PAGES = {
    "playground": "/?clock=29",
    "proof": "/?data=xor&n=12&clock=20&proof=yes",
    "side-by-side": "/?data=moons&noise=0.5&space=kernel-rbf&clock=80&beside=perceptron.logistic.max-margin",
    "train-and-test": "/?data=overlapping&noise=0.6&n=120&test=30&clock=400",
    "backpropagation": "/networks?data=moons&noise=0.8&builder=backpropagation&iterations=20",
    "game": "/game?rounds=12",
    "gates": "/gates?gate=XOR&w1=1&w2=1&b=-0.5&proof=yes",
    "networks": "/networks?data=moons&builder=tower&noise=0.9",
    "lessons": "/lessons/04-convergence",
}


def main() -> None:
    """Save pictures of every page in both themes at both sizes; arguments choose ``lab``, ``mail`` or ``report``."""
    program = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("pictures need Chromium")
    IMAGES.mkdir(exist_ok=True)
    command = [
        sys.executable,
        "-c",
        "from rosenblatt.cli import main; main()",
        "lab",
        "--port",
        "0",
        "--no-open",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        wanted = set(sys.argv[1:]) or {"mail", "lab", "report"}
        if "mail" in wanted:
            _mail(browser)
        if "lab" in wanted:
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            ) as lab:
                assert lab.stdout is not None
                _pictures(browser, lab.stdout.readline().strip(), PAGES)
                lab.terminate()
        if "report" in wanted:
            _report(browser)
        browser.close()


def _pictures(browser: Browser, address: str, pages: dict[str, str]) -> None:
    """Open pages in both themes at both sizes, and save what is seen."""
    for theme in ("light", "dark"):
        for width, height in SIZES.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
            page = context.new_page()
            for name, path in pages.items():
                page.goto(address + path)
                page.wait_for_function("window.socket && window.socket.connected")
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(500)  # the bound of the model page is computed after it was drawn
                _save(page.screenshot(), IMAGES / f"{name}-{theme}-{width}.png")
            context.close()


def _mail(browser: Browser) -> None:
    """Teach a mail filter with made-up messages, bring new ones, and take its two pages."""
    program = "from rosenblatt.cli import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        for name, texts in {"Starred": IMPORTANT, "INBOX": ORDINARY}.items():
            (Path(folder) / f"{name}.mbox").write_bytes(_mbox(texts, days=range(0, 60)))
        (Path(folder) / "new.mbox").write_bytes(_mbox([*IMPORTANT, *ORDINARY], days=range(60, 74)))
        store = ["--data", f"{folder}/store"]
        words = ["mail", "import", folder, "--important", "Starred", "--rest", "INBOX", *store]
        subprocess.run([sys.executable, "-c", program, *words], check=True, stdout=subprocess.DEVNULL)
        maildir = mailbox.Maildir(f"{folder}/Maildir")
        for content in mailbox.mbox(f"{folder}/new.mbox"):
            maildir.add(content)
        words = ["mail", "watch", f"{folder}/Maildir", "--once", *store]
        subprocess.run([sys.executable, "-c", program, *words], check=True, stdout=subprocess.DEVNULL)
        words = ["serve", "--port", "0", *store]
        with subprocess.Popen(
            [sys.executable, "-c", program, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            assert server.stdout is not None
            _pictures(browser, server.stdout.readline().split()[-1], {"inbox": "/", "model": "/model"})
            server.terminate()


def _mbox(texts: Sequence[tuple[str, str, str]], days: range) -> bytes:
    """Return an mbox with a message for every day, made of words drawn from the texts."""
    rng = random.Random(days.start)
    parts = []
    for day in days:
        sender, subject, text = texts[rng.randrange(len(texts))]
        extra = " ".join(rng.sample(ANYWHERE, 4))
        date = format_datetime(datetime(2026, 3, 1, 8, tzinfo=UTC) + timedelta(days=day, minutes=37 * day))
        parts.append(
            f"From sender Wed May  1 00:00:00 2024\nFrom: {sender}\nTo: me@example.org\nDate: {date}\n"
            f"Subject: {subject}\n\n{text} {extra}\n\n"
        )
    return "".join(parts).encode()


def _report(browser: Browser) -> None:
    """Fit the table of the README, and take the top of the report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        code = "from rosenblatt.cli import main; main()"
        table = Path(__file__).parent.parent / "examples" / "data" / "loans.csv"
        command = [sys.executable, "-c", code, "fit", str(table), "--report", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(path.as_uri())
        _save(page.screenshot(), IMAGES / "report.png")


def _save(content: bytes, path: Path) -> None:
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path} {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
