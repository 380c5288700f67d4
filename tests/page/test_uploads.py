"""Files that are uploaded with a form: texts and pictures, bounds, and forms that browsers do not write."""

import pytest

from tests.page.visitor import SAME_ORIGIN, Visitor, text_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
BOUNDARY = "----WebKitFormBoundaryabc123"


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    """Return one field, or one file, as browsers write it."""
    file = "" if filename is None else f'; filename="{filename}"\r\nContent-Type: text/html'
    return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n"


def upload(visitor: Visitor, *parts: bytes, end: bytes = f"--{BOUNDARY}--\r\n".encode(), path: str = "new") -> int:
    """Send parts to the form for documents; the status."""
    headers = [*SAME_ORIGIN, ("content-type", f"multipart/form-data; boundary={BOUNDARY}")]
    return visitor.server.ask("POST", f"/p/default/documents/{path}", headers, b"".join(parts) + end).status


def test_a_text_and_a_picture_are_uploaded_and_keep_their_bytes(ada: Visitor) -> None:
    empty = part("content", b"")
    assert upload(ada, empty, part("file", "# Größe\r\nzwei".encode(), "Q3 / Größe.md")) == 303
    assert upload(ada, empty, part("name", b"logo.png"), part("file", PNG, "ignored.html")) == 303
    assert upload(ada, empty, part("name", b"Logo"), part("file", PNG, "logo.png")) == 303
    assert upload(ada, empty, part("file", b"\xff\xfe\x00", "broken.txt")) == 303

    text = ada.get("/p/default/documents/Q3-Grosse.md")
    assert "text/markdown" in text_of(text) and "<h1>Größe</h1>" in text.text
    for name in ("logo.png", "Logo"):
        picture = ada.get(f"/p/default/documents/{name}/raw")
        assert (picture.body, picture.header("content-type")) == (PNG, "image/png")
        assert "inline" in (picture.header("content-disposition") or "")
    broken = ada.get("/p/default/documents/broken.txt/raw")
    assert (broken.body, broken.header("content-type")) == (b"\xff\xfe\x00", "application/octet-stream")
    assert "attachment" in (broken.header("content-disposition") or "")


def test_a_file_that_only_says_to_be_a_picture_is_a_download(ada: Visitor) -> None:
    assert upload(ada, part("content", b""), part("file", b"<script>top.hacked=1</script>", "bad.png")) == 303
    raw = ada.get("/p/default/documents/bad.png/raw")
    assert raw.header("content-type") == "application/octet-stream"
    assert "<img" not in ada.get("/p/default/documents/bad.png").text.partition("<main")[2]


def test_a_file_beside_a_text_is_not_guessed_about(ada: Visitor) -> None:
    assert upload(ada, part("content", b"typed"), part("file", b"sent", "a.md")) == 200
    assert "No documents yet" in text_of(ada.get("/p/default/documents"))


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        ((b"preamble\r\n", part("name", b"x")), f"--{BOUNDARY}--\r\n".encode()),
        ((b"--" + BOUNDARY.encode() + b"\r\nContent-Type: text/plain\r\n\r\nx\r\n",), f"--{BOUNDARY}--".encode()),
        ((part("n" * 5000, b"x"),), f"--{BOUNDARY}--".encode()),
        ([part("tag", b"x")] * 501, f"--{BOUNDARY}--".encode()),
    ],
)
def test_a_form_that_no_browser_writes_is_refused(ada: Visitor, parts: tuple[bytes, ...], end: bytes) -> None:
    assert upload(ada, *parts, end=end) == 400
    assert "No documents yet" in text_of(ada.get("/p/default/documents"))


def test_files_are_bounded_and_taken_where_a_form_offers_them_only(ada: Visitor) -> None:
    assert upload(ada, part("file", bytes(9 * 1024 * 1024), "big.bin")) == 200  # the form again, with what is wrong
    assert upload(ada, part("file", bytes(33 * 1024 * 1024), "big.bin")) == 413
    assert "No documents yet" in text_of(ada.get("/p/default/documents"))
    ada.post("/p/default/documents/new", name="a.md", content="x", uri="", mime_type="")
    assert upload(ada, part("content", b"y"), path="a.md/edit") == 415
    headers = [*SAME_ORIGIN, ("content-type", "multipart/form-data")]
    assert ada.server.ask("POST", "/p/default/documents/new", headers, b"--x--").status == 400
