"""Machine code in the wheel: the build runs everyday work once and packs what was compiled for it.

``HATCH_BUILD_NO_HOOKS=true`` builds a wheel without code, for every Python and CPU. An editable install leaves the code
in the source folder, where git ignores it.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCodeHook(BuildHookInterface[Any]):
    """Fills ``src/rosenblatt/machine_code`` and packs it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are gathered."""
        source = Path(self.root) / "src"
        subprocess.run(
            [sys.executable, "-m", "rosenblatt.cli.warmup"],
            env={**os.environ, "PYTHONPATH": str(source)},
            check=True,
        )
        if version != "editable" and any(source.glob("rosenblatt/machine_code/**/*.nbc")):
            build_data["artifacts"].append("src/rosenblatt/machine_code/**")
            build_data["pure_python"] = False
            build_data["infer_tag"] = True  # numba's code belongs to one Python and one platform
