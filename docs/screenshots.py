"""Take the pictures of every page of the lab, and of a report, into ``docs/images``: ``make screenshots``."""

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parent / "images"
COLOURS = 256  # of a picture: its file is half as large, and looks the same
SIZES = {1440: 900, 390: 844}
PAGES = {
    "playground": "/?clock=29",
    "proof": "/?data=xor&n=12&clock=20&proof=yes",
    "side-by-side": "/?data=moons&noise=0.5&space=kernel-rbf&clock=80&beside=perceptron.logistic.max-margin",
    "game": "/game?rounds=12",
    "gates": "/gates?gate=XOR&w1=1&w2=1&b=-0.5&proof=yes",
    "networks": "/networks?data=moons&builder=tower&noise=0.9",
    "lessons": "/lessons/04-convergence",
}


def main() -> None:
    """Start a lab, open every page in both themes at both sizes, and save what is seen."""
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
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as lab:
        assert lab.stdout is not None
        address = lab.stdout.readline().strip()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            for theme in ("light", "dark"):
                for width, height in SIZES.items():
                    context = browser.new_context(
                        viewport={"width": width, "height": height}, color_scheme=theme
                    )
                    page = context.new_page()
                    for name, path in PAGES.items():
                        page.goto(address + path)
                        page.wait_for_function("window.socket && window.socket.connected")
                        page.wait_for_load_state("networkidle")
                        _save(page.screenshot(), IMAGES / f"{name}-{theme}-{width}.png")
                    context.close()
            _report(browser)
            browser.close()
        lab.terminate()


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
