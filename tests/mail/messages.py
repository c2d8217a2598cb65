"""Messages for tests: a small world in which deadlines and budgets matter, and sales do not."""

import random
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime

MATTERS = ["deadline", "budget", "decision", "contract", "review", "meeting", "signature", "invoice"]
SELLS = ["sale", "discount", "unsubscribe", "offer", "winner", "prize", "deal", "bargain"]
NEITHER = [
    "river",
    "table",
    "green",
    "window",
    "seven",
    "cloud",
    "paper",
    "garden",
    "music",
    "bread",
    "stone",
    "light",
]


def message(subject, text, *, sender="ann@example.org", hours=0, headers=(), html=None):
    """Return a message as bytes."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = sender, "me@example.org", subject
    made["Date"] = format_datetime(datetime(2024, 5, 1, tzinfo=UTC) + timedelta(hours=hours))
    for name, value in headers:
        made[name] = value
    made.set_content(text)
    if html is not None:
        made.add_alternative(html, subtype="html")
    return made.as_bytes()


def letter(seed, important):
    """Return a message of one class: words of the class among others."""
    rng = random.Random(seed)
    own = rng.sample(MATTERS if important else SELLS, 3)
    words = own + rng.sample(NEITHER, 5)
    rng.shuffle(words)
    sender = f"{rng.choice(['ann', 'bob'])}@{'work' if important else 'shop'}.example"
    return message(" ".join(own[:2]), " ".join(words), sender=sender, hours=seed)


def mbox(contents):
    """Return messages as an mbox."""
    return b"".join(
        b"From ann@example.org Wed May  1 00:00:00 2024\n"
        + b"\n".join(b">" + line if line.startswith(b"From ") else line for line in content.split(b"\n"))
        + b"\n\n"
        for content in contents
    )
