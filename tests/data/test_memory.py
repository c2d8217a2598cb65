"""Memory limits of control groups, as containers have them."""

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rosenblatt.data.memory import memory_limit

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
V2 = "30 23 0:26 {top} {place} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "35 31 0:32 {top} {place} rw,relatime - cgroup cgroup rw,memory\n"
CPU = "36 31 0:33 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"


def system(tmp_path, groups, mounts, limits):
    """Write what the kernel would show below a folder."""
    files = {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts, **limits}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("groups", "mounts", "limits", "expected"),
    [
        # a container with cgroup v2: it sees itself as the root
        ("0::/\n", V2.format(top="/", place="/sys/fs/cgroup"), {"memory.max": "268435456\n"}, 268435456),
        # a slice of systemd: the smallest limit on the way up counts
        (
            "0::/user.slice/me.scope\n",
            V2.format(top="/", place="/sys/fs/cgroup"),
            {"user.slice/me.scope/memory.max": "max\n", "user.slice/memory.max": "536870912\n"},
            536870912,
        ),
        # cgroup v1 in a container: the path is the host's, what is mounted is the group itself
        (
            "4:memory:/docker/abc\n3:cpu:/docker/abc\n0::/docker/abc\n",
            CPU + V1.format(top="/docker/abc", place="/sys/fs/cgroup/memory"),
            {"memory/memory.limit_in_bytes": "134217728\n"},
            134217728,
        ),
        # cgroup v1 on the host, several controllers in one hierarchy
        (
            "4:cpuset,memory:/a/b\n",
            V1.format(top="/", place="/sys/fs/cgroup/memory"),
            {
                "memory/a/b/memory.limit_in_bytes": "200000000\n",
                "memory/a/memory.limit_in_bytes": "100000000\n",
                "memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            100000000,
        ),
        # both at once, as systemd mounts them
        (
            "4:memory:/a\n0::/a\n",
            V1.format(top="/", place="/sys/fs/cgroup/memory")
            + V2.format(top="/", place="/sys/fs/cgroup/unified"),
            {"memory/a/memory.limit_in_bytes": "300000000\n", "unified/a/memory.max": "max\n"},
            300000000,
        ),
        # a namespace: the group lies above what can be seen
        (
            "0::/../other\n",
            V2.format(top="/", place="/sys/fs/cgroup"),
            {"memory.max": "400000000"},
            400000000,
        ),
        # a mount with a blank in its name
        (
            "0::/\n",
            V2.format(top="/", place="/sys/fs/my\\040groups"),
            {"../my groups/memory.max": "5000"},
            5000,
        ),
        ("0::/\n", V2.format(top="/", place="/sys/fs/cgroup"), {"memory.max": "max\n"}, MACHINE),
        ("0::/\n", V2.format(top="/", place="/sys/fs/cgroup"), {}, MACHINE),
        ("4:memory:/a\n", V1.format(top="/", place="/sys/fs/cgroup/memory"), {}, MACHINE),
        ("nonsense\n0::\n", "more nonsense\n - cgroup2\n", {}, MACHINE),
        ("0::/\n", V2.format(top="/", place="/sys/fs/cgroup"), {"memory.max": str(4 * MACHINE)}, MACHINE),
    ],
)
def test_the_limit_of_a_container_is_found(tmp_path, groups, mounts, limits, expected):
    place = {f"sys/fs/cgroup/{name}": text for name, text in limits.items()}
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    assert memory_limit(system(tmp_path, groups, mounts, place)) == expected


def test_without_control_groups_it_is_the_memory_of_the_machine(tmp_path):
    assert memory_limit(tmp_path) == MACHINE


def test_every_limit_is_that_of_the_container(monkeypatch, tmp_path):
    """What asks for memory asks here: a source that would not fit is read in passes, weights are refused."""
    from rosenblatt.cli.fit.stream import too_large
    from rosenblatt.data import arrow_check
    from rosenblatt.learner import state

    source = tmp_path / "a.csv"
    source.write_text("a,b\n1,2\n")
    assert not too_large(str(source), None)
    monkeypatch.setattr("rosenblatt.data.memory.memory_limit", lambda: 1 << 20)
    for module in (arrow_check, state):
        monkeypatch.setattr(module, "memory_limit", lambda: 1 << 20)
    assert too_large(str(source), None)
    packed = io.BytesIO()
    zeros = pa.table({"a": np.zeros(1 << 16)})
    with pa.ipc.new_file(packed, zeros.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(zeros)
    with pytest.raises(ValueError, match="more than 262,144"):  # a quarter
        arrow_check.check_uncompressed_size(packed)
    with pytest.raises(MemoryError, match="features need about"):
        state._check_memory(1, 1 << 20, 1)
    for file in Path(state.__file__).parents[1].rglob("*.py"):
        assert "SC_PHYS_PAGES" not in file.read_text() or file.name == "memory.py"
