"""The MIME type that the ending of a name implies. A table of our own: that of Python takes 5 ms of a start to fill."""

_PLAIN = "text/plain"

_TYPES = {
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
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "zip": "application/zip",
    "gz": "application/gzip",
}


def guess(name: str) -> str:
    """The MIME type of a document that is called so; plain text where its name does not say."""
    return _TYPES.get(name.rpartition(".")[2].lower(), _PLAIN) if "." in name else _PLAIN
