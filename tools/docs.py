"""Write the parts of the documentation that come from tables in the code.

docs/reference/ has the settings, the commands, and for each contract a page and the JSON Schemas of its tools.
docs/teams/deploy.md shows files.
With --check it writes nothing, names the stale files, and exits with status 1 if there are any.
"""

import json
import re
import sys
from pathlib import Path

import commands_page
import contract_pages
import settings_page
from satchel.contracts import CONTRACTS, load

FOLDER = contract_pages.ROOT / "docs" / "reference" / "contracts"


def pages() -> dict[Path, str]:
    """Return every generated file with its text."""
    made = {
        FOLDER.parent / "settings.md": settings_page.settings_page(),
        FOLDER.parent / "commands.md": commands_page.commands_page(),
        FOLDER / "README.md": contract_pages.index(),
    }
    deploy = FOLDER.parents[1] / "teams" / "deploy.md"
    made[deploy] = show_files(deploy.read_text())
    for name in CONTRACTS:
        contract = load(name)
        made[FOLDER / f"{name}.md"] = contract_pages.page(contract)
        for tool in contract.tools:
            schema = json.dumps(contract.publish_schema(tool), indent=2, ensure_ascii=False)
            made[FOLDER / name / f"{tool.name}.json"] = schema + "\n"
    return made


def show_files(page: str) -> str:
    """Return a page with the text of each file that a comment `<!-- file PATH -->` names, in the block after it."""

    def show(block: re.Match[str]) -> str:
        return f"{block['head']}{(contract_pages.ROOT / block['path']).read_text()}```"

    return re.sub(r"(?P<head><!-- file (?P<path>\S+) -->\n```\w+\n).*?^```", show, page, flags=re.M | re.S)


def main() -> int:
    """Write the pages; with --check name the stale ones."""
    made = pages()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in FOLDER.rglob("*.*") if path not in made]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(contract_pages.ROOT)} is stale: run `make docs` and commit it.")
        return 1 if stale else 0
    for path in stale:
        if path in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
