"""The MIME types of documents by the ending of their name: the one table of the whole product.

Python's own table differs between machines and versions, and takes 5 ms of a start to fill.
"""

_PLAIN, _BYTES = "text/plain", "application/octet-stream"

_TYPES = {
    **dict.fromkeys(("txt", "text", "log"), _PLAIN),
    **dict.fromkeys(("md", "markdown", "mdx"), "text/markdown"),
    **dict.fromkeys(("html", "htm"), "text/html"),
    "css": "text/css",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    **dict.fromkeys(("py", "pyi"), "text/x-python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "text/javascript"),
    **dict.fromkeys(("ts", "tsx", "mts"), "text/x-typescript"),  # video/mp2t elsewhere
    "rs": "text/x-rust",
    "go": "text/x-go",
    "java": "text/x-java",
    "rb": "text/x-ruby",
    **dict.fromkeys(("c", "h"), "text/x-c"),
    **dict.fromkeys(("cc", "cpp", "hpp"), "text/x-c++"),
    **dict.fromkeys(("sh", "bash", "zsh"), "application/x-sh"),
    "sql": "application/sql",
    "json": "application/json",
    **dict.fromkeys(("jsonl", "ndjson"), "application/jsonl"),
    **dict.fromkeys(("yaml", "yml"), "application/yaml"),
    "toml": "application/toml",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "png": "image/png",
    **dict.fromkeys(("jpg", "jpeg"), "image/jpeg"),
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "ico": "image/x-icon",
    "bmp": "image/bmp",
    **dict.fromkeys(("tif", "tiff"), "image/tiff"),
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mov": "video/quicktime",
    "pdf": "application/pdf",
    "zip": "application/zip",
    **dict.fromkeys(("gz", "tgz", "svgz"), "application/gzip"),
    "bz2": "application/x-bzip2",
    "xz": "application/x-xz",
    "tar": "application/x-tar",
    "7z": "application/x-7z-compressed",
    "wasm": "application/wasm",
    "epub": "application/epub+zip",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
}


def guess(name: str) -> str:
    """Return the MIME type of a document of this name; plain text if its ending is unknown."""
    return _TYPES.get(_ending(name), _PLAIN)


def guess_with_content(name: str, *, is_text: bool) -> str:
    """Return the MIME type of a document of this name; if its ending is unknown, its content decides."""
    return _TYPES.get(_ending(name), _PLAIN if is_text else _BYTES)


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
