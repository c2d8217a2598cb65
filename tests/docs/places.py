"""Where the documentation lies, and the public modules it must cover."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
GENERATED = ("docs/_build", "docs/generated", "docs/gallery")

# Modules whose __all__ is a promise to users
PUBLIC = (
    "rosenblatt",
    "rosenblatt.rules",
    "rosenblatt.plots",
    "rosenblatt.proofs",
    "rosenblatt.engines",
    "rosenblatt.export",
    "rosenblatt.networks",
    "rosenblatt.kernel",
    "rosenblatt.data",
    "rosenblatt.learner",
)


def public_names() -> list[tuple[str, str]]:
    """Return (module, name) of every public name."""
    return [(home, name) for home in PUBLIC for name in import_module(home).__all__ if name != "__version__"]


def value_of(home: str, name: str) -> object:
    """Return what a public name stands for."""
    module: ModuleType = import_module(home)
    return getattr(module, name)


def pages() -> list[Path]:
    """Return every Markdown page of the checkout that people wrote."""
    found = [*ROOT.glob("*.md"), *(ROOT / "changes").glob("*.md"), *DOCS.rglob("*.md")]
    return [page for page in found if not page.relative_to(ROOT).as_posix().startswith(GENERATED)]
