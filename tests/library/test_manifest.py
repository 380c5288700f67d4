"""What the system does not let us read is reported and skipped."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from satchel.library.catalog import Libraries

NOBODY = 65534


@contextmanager
def without_rights() -> Iterator[None]:
    """Be a user whom file permissions bind."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder that every user can reach, which the temporary folders of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_files_that_must_not_be_read_are_reported_and_skipped(root: Path) -> None:
    for name in ("folder", "manifest", "prompts"):
        (root / name / "prompts").mkdir(parents=True)
        (root / name / "twig.toml").write_text("[prompts.p]\n")
        (root / name / "prompts" / "p.md").write_text("x")
    libraries = Libraries([str(root)], is_quiet=True)
    for place in ("folder", "manifest/twig.toml", "prompts/prompts"):
        (root / place).chmod(0)
    with without_rights():
        libraries.rescan()
    catalog = libraries.catalog
    denied = "Permission denied"
    assert [str(problem) for problem in catalog.problems] == [
        f"folder: skipped, because it cannot be read: {denied}",
        f"manifest/twig.toml:1: cannot be read: {denied}",
    ]
    assert [str(problem) for library in catalog.libraries for problem in library.problems] == [
        f"twig.toml: prompt p is skipped: prompts/p.md is not read, because prompts cannot be opened: {denied}"
    ]
    for place in ("folder", "manifest/twig.toml", "prompts/prompts"):
        (root / place).chmod(0o755)
    libraries.rescan()
    assert [name for name, _ in libraries.catalog.view] == ["folder:p", "manifest:p", "prompts:p"]
