"""What the page weighs, what it brings along, and when it is loaded."""

import gzip
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from satchel.page.views import VIEWS
from tests.page.visitor import Visitor

STATIC = Path(__file__).resolve().parents[2] / "src" / "satchel" / "page" / "static"
# From the npm package htmx.org 4.0.0, dist/htmx.min.js; its licence (Zero-Clause BSD) is beside it.
HTMX = "e484d9171a9db30a39c8f16e3d709d4137f3211c659f8e6125816635033d593f"


def test_the_vendored_script_is_the_published_one() -> None:
    assert sha256((STATIC / "htmx-4.0.0.min.js").read_bytes()).hexdigest() == HTMX
    assert "Zero-Clause BSD" in (STATIC / "htmx-LICENSE.txt").read_text()


def test_static_files_are_compressed_and_kept_by_the_browser(ada: Visitor) -> None:
    [file, *_] = re.findall(r'(?:src|href)="(/static/[^"]+)"', ada.get("/").text)
    packed = ada.ask("GET", file, headers=[("accept-encoding", "gzip, br")])
    plain = ada.ask("GET", file, headers=[])
    assert (packed.header("content-encoding"), plain.header("content-encoding")) == ("gzip", None)
    assert gzip.decompress(packed.body) == plain.body
    assert (plain.header("cache-control") or "").endswith("immutable")


def test_every_view_that_changes_something_is_a_post_and_every_get_has_a_page(ada: Visitor) -> None:
    paths = {
        method: {one.path for one in VIEWS if one.method == method and "{" not in one.path}
        for method in ("GET", "POST")
    }
    for path in paths["GET"]:
        assert ada.get(path).status == 200, path
    for path in paths["POST"] - paths["GET"]:
        assert ada.ask("GET", path).status == 405, path


def test_a_server_that_nobody_looks_at_loads_no_page() -> None:
    heavy = ("satchel.page", "jinja2", "nh3", "markdown_it")
    code = f"import satchel.app.http, sys; print([one for one in sys.modules if one.startswith({heavy})])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
