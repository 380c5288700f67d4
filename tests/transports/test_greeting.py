"""The lines of a server over HTTP that is ready: they name the project of the folder, and the token where needed."""

from satchel.app.greeting import write_greeting

URL = "http://127.0.0.1:8000"


def test_every_line_carries_the_project_and_the_token() -> None:
    said = write_greeting(
        contract="satchel", others=["todo"], url=URL, project="web shop", has_page=True, needs_token=True
    )
    assert said.splitlines() == [
        f"serving satchel at {URL}/mcp?project=web%20shop (others at {URL}/mcp/NAME: todo)",
        f"  For people    open {URL}/ in a browser",
        "  Token         satchel token create, for TOKEN below",
        f"  Any client    satchel install CLIENT --url {URL}/mcp --project 'web shop' --token-env SATCHEL_TOKEN",
        f"  Claude Code   claude mcp add --transport http --scope user satchel '{URL}/mcp?project=web%20shop' "
        '--header "Authorization: Bearer TOKEN"',
        f'  VS Code       code --add-mcp \'{{"name":"satchel","type":"http","url":"{URL}/mcp?project=web%20shop",'
        '"headers":{"Authorization":"Bearer TOKEN"}}\'',
        f'  Cursor        "satchel": {{"url": "{URL}/mcp?project=web%20shop", '
        '"headers": {"Authorization": "Bearer TOKEN"}} in ~/.cursor/mcp.json',
        f"  curl          curl {URL}/health",
        "Stop with Ctrl-C.",
    ]


def test_without_project_token_and_page_the_lines_are_plain() -> None:
    said = write_greeting(contract="todo", others=[], url=URL, project=None, has_page=False, needs_token=False)
    assert "project" not in said and "TOKEN" not in said and "browser" not in said
    assert f"  Any client    satchel install CLIENT --url {URL}/mcp\n" in said
