"""A hook of mkdocs: links that leave docs/ become links to the repository."""

import os
import re
from typing import Any

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return a page with each link to a file outside of docs/ as an address in the repository."""
    docs = config["docs_dir"]
    folder = os.path.dirname(page.file.abs_src_path)

    def rewrite(link: re.Match[str]) -> str:
        path = os.path.normpath(os.path.join(folder, link[1]))
        if path.startswith(docs + os.sep) and not os.path.isdir(path):
            return link[0]
        inside = os.path.relpath(path, os.path.dirname(docs))
        kind = "tree" if os.path.isdir(path) else "blob"
        return f"{config['repo_url']}/{kind}/main/{inside}{link[2] or ''}"

    return _LINK.sub(rewrite, markdown)
