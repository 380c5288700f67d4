"""A hard link in a library is another name of a file elsewhere: it is not read, and it is reported."""

import os
from pathlib import Path

import pytest

from satchel.files import NotAFile, open_folder, read_file
from satchel.library.catalog import ContentMissing, Libraries
from satchel.library.validate import check_library

SECRET = "a secret from outside"
LINKED = "has another name (a hard link), and such files are not read: copy it"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library with one good prompt, beside a file that is not its own."""
    folder = tmp_path / "roots" / "lib"
    (folder / "prompts").mkdir(parents=True)
    (folder / "twig.toml").write_text("[prompts.good]\n[prompts.stolen]\n")
    (folder / "prompts" / "good.md").write_text("good")
    (tmp_path / "outside").write_text(SECRET)
    return folder


def opened(library: Path) -> Libraries:
    return Libraries([str(library.parent)], is_quiet=True)


def test_a_linked_content_is_not_read_and_is_reported(library: Path, tmp_path: Path) -> None:
    os.link(tmp_path / "outside", library / "prompts" / "stolen.md")
    libraries = opened(library)
    assert [name for name, _ in libraries.catalog.view] == ["lib:good"]
    assert any(LINKED in str(problem) for problem in libraries.catalog.libraries[0].problems)
    found = libraries.find("lib:stolen")
    assert found is not None
    with pytest.raises(ContentMissing):
        libraries.read(*found)
    assert any(LINKED in problem.what and not problem.is_warning for problem in check_library(str(library)).problems)
    libraries.renderer.close()


def test_a_linked_manifest_is_not_read_and_is_reported(library: Path, tmp_path: Path) -> None:
    os.link(library / "twig.toml", tmp_path / "elsewhere.toml")
    libraries = opened(library)
    assert libraries.catalog.view == []
    assert any(LINKED in str(problem) for problem in libraries.catalog.problems)
    (tmp_path / "elsewhere.toml").unlink()  # with one name again, it is read again
    libraries.rescan()
    assert [name for name, _ in libraries.catalog.view] == ["lib:good"]
    libraries.renderer.close()


def test_a_link_that_appears_after_the_scan_is_not_read_either(library: Path, tmp_path: Path) -> None:
    libraries = opened(library)
    found = libraries.find("lib:good")
    assert found is not None and libraries.read(*found).text == "good"
    (library / "prompts" / "good.md").unlink()
    os.link(tmp_path / "outside", library / "prompts" / "good.md")
    with pytest.raises(ContentMissing):
        libraries.read(*found)
    with open_folder(str(library), "prompts") as folder, pytest.raises(NotAFile):
        read_file("good.md", 1000, folder=folder, is_single=True)
    libraries.renderer.close()
