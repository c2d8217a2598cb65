"""How long a step of the lab takes at 500 points: from the click in a real browser to the redrawn page."""

import shutil
import statistics
import subprocess
import sys

from benchmarks.measure import Ratios, milliseconds

ASKED = 0.1  # seconds
RUNS = 15
STATES = {
    "the plane": "/?n=500&data=overlapping&clock=500",
    "four learners beside": "/?n=500&data=overlapping&clock=500&beside=perceptron.logistic.centroid.gaussian",
    "polynomial map, degree 3": "/?n=500&data=moons&noise=0.8&space=polynomial-3&clock=500",
    "Gaussian kernel": "/?n=500&data=moons&noise=0.8&space=kernel-rbf&clock=100",
}

# Click, and wait until the run's line and the plane have changed and were painted.
STEP = """name => new Promise(done => {
  const button = [...document.querySelectorAll('.lab-steps button')].find(b => b.innerText.trim().endsWith(name));
  const before = location.href, started = performance.now();
  const look = () => location.href === before ? setTimeout(look, 1)
    : requestAnimationFrame(() => setTimeout(() => done((performance.now() - started) / 1000), 0));
  button.click();
  look();
})"""


def main() -> None:
    table = Ratios("The lab: from click to redrawn page, 500 points (asked: within 100 ms)")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        table.left_out("a step in the browser", "needs playwright and Chromium")
        table.show()
        return
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
        address = lab.stdout.readline().strip()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for what, path in STATES.items():
                page.goto(address + path)
                page.wait_for_function("window.socket && window.socket.connected")
                for name in ("Step", "Update"):
                    times = []
                    for _ in range(RUNS):
                        if page.get_by_role("button", name=name, exact=True).is_disabled():  # a clean pass
                            page.get_by_role("button", name="Restart").click()
                            page.wait_for_function("!location.href.includes('clock')")
                        times.append(page.evaluate(STEP, name))
                    told = f"{milliseconds(min(times))}, median {milliseconds(statistics.median(times))}"
                    table.add(f"{name.lower()}: {what}", told, milliseconds(ASKED), ASKED / min(times), 1.0)
            browser.close()
        lab.terminate()
    table.show()


if __name__ == "__main__":
    main()
