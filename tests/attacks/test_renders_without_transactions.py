"""No transaction is open while a template is rendered or checked, in any contract that does so."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from satchel.contracts import CONTRACTS, load
from satchel.contracts.runner import Runner
from satchel.library.catalog import Libraries
from satchel.library.render import Renderer
from satchel.model import Scope
from satchel.protocol import NEWEST, Call
from satchel.services import projects
from satchel.storage.database import Database, Tx
from tests.attacks.worlds import ANN

ADA = Scope(project="default", user=ANN)
TEMPLATE = {"title": "Greet", "content": "Hello {{ name }}", "arguments": [{"name": "name"}]}
# By contract: the tools and methods that render or check templates, in an order in which they succeed.
RENDERING: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "twig": [("prompts/get", {"name": "a:greet", "arguments": {"name": "Ada"}})],
    "satchel": [
        ("add_prompt", TEMPLATE),
        ("update_prompt", {"prompt": "greet", "content": "Hi {{ name }}"}),
        ("get_prompt", {"prompt": "greet", "arguments": {"name": "Ada"}}),
        ("add_prompt", {"title": "Letter", "content": '{% include "greet" %}'}),
        ("get_prompt", {"prompt": "letter", "arguments": {"name": "Ada"}}),
        ("get_prompt", {"prompt": "a:greet", "arguments": {"name": "Ada"}}),
        ("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}),
    ],
}


def test_every_contract_that_reads_libraries_is_looked_at() -> None:
    assert {name for name in CONTRACTS if load(name).reads_libraries} == RENDERING.keys()


@pytest.mark.parametrize("contract", RENDERING)
def test_no_transaction_is_open_while_a_template_is_rendered(
    contract: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "a"
    (library / "prompts").mkdir(parents=True)
    (library / "twig.toml").write_text('[library]\nname = "a"\n[prompts.greet]\narguments = [{name = "name"}]\n')
    (library / "prompts" / "greet.md").write_text("Hello {{ name }}")
    projects.require(database, ADA)
    is_open: list[Tx] = []
    rendered: list[int] = []

    def watch(name: str) -> None:
        begin: Callable[..., AbstractContextManager[Tx]] = getattr(database, name)

        @contextmanager
        def watched(scope: Scope | None = None, deadline: float | None = None, **more: Any) -> Iterator[Tx]:
            with begin(scope, deadline, **more) as tx:
                is_open.append(tx)
                try:
                    yield tx
                finally:
                    is_open.remove(tx)

        monkeypatch.setattr(database, name, watched)

    def ask(self: Renderer, *arguments: Any) -> Any:
        rendered.append(len(is_open))
        return original(self, *arguments)

    original = Renderer._ask
    monkeypatch.setattr(Renderer, "_ask", ask)
    watch("read")
    watch("write")
    libraries = Libraries((str(tmp_path),))
    runner = Runner(load(contract), database if load(contract).reads_store else None, lambda: libraries)
    try:
        for name, given in RENDERING[contract]:
            rendered.clear()
            if "/" in name:
                call = Call(id=1, method=name, params=given, revision=NEWEST)
                assert "messages" in runner.answer(call, ADA, lambda *_: None)
            else:
                result = runner.run_tool(name, given, ADA, lambda *_: None)
                assert result["isError"] is False, (name, result)
            assert rendered and not any(rendered), name
    finally:
        libraries.renderer.close()
