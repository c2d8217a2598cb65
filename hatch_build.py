"""What the build does beside packing files: machine code into the wheel, and a README that is right on a package index.

The build runs everyday work once and packs the machine code that was compiled for it.
``HATCH_BUILD_NO_HOOKS=true`` builds a wheel without code, for every Python and CPU. An editable install leaves the code
in the source folder, where git ignores it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s]+)\)")


class MachineCodeHook(BuildHookInterface[Any]):
    """Fills ``src/rosenblatt/machine_code`` and packs it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are gathered."""
        source = Path(self.root) / "src"
        # pip makes the dependencies of a build importable by PYTHONPATH, so the sources are put before what is there.
        path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
        compiling = subprocess.run(
            [sys.executable, "-m", "rosenblatt.cli.commands.warmup"],
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
        if compiling.returncode:
            self.app.display_warning("no machine code was built: loops are compiled when they are first used")
        folder = f"rosenblatt/machine_code/*-{sys.implementation.cache_tag}"  # a checkout may hold that of others too
        if version != "editable" and any(source.glob(f"{folder}/*/*.nbc")):
            build_data["artifacts"].append(f"src/{folder}/**")
            build_data["pure_python"] = False
            build_data["infer_tag"] = True  # numba's code belongs to one Python and one platform


def absolute_links(text: str, files: str) -> str:
    """Return Markdown whose links to files of the checkout begin with an address; without one they become plain text.

    >>> absolute_links("see [the guide](docs/guide.md)", "https://example.org/v1")
    'see [the guide](https://example.org/v1/docs/guide.md)'
    >>> absolute_links("see [the guide](docs/guide.md)", "")
    'see the guide'
    """

    def changed(link: re.Match[str]) -> str:
        mark, words, path = link.groups()
        return f"{mark}[{words}]({files.rstrip('/')}/{path})" if files else words

    return LINK.sub(changed, text)


class ReadmeHook(MetadataHookInterface):
    """Makes the README of the metadata: on a package index there is no checkout for relative links to lead into.

    ``ROSENBLATT_FILES`` is the address of the files of this version, as a browser fetches them (pictures too). Where it
    is not set, links and pictures become their words, so that nothing on the page is broken.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = absolute_links(text, os.environ.get("ROSENBLATT_FILES", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
