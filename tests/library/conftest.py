"""The renderer of templates."""

from collections.abc import Iterator

import pytest

from satchel.library.render import Renderer


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    """A renderer, with workers of its own."""
    renderer = Renderer()
    yield renderer
    renderer.close()
