"""Settings: the four sources, and the types that each takes."""

from pathlib import Path

import pytest

from satchel.cli.serve import parse
from satchel.config import SETTINGS, SettingsError, load

TYPED = """\
transport = "http"
port = 0
workers = 2
read_only = true
libraries = ["a", "b:c"]
toolsets = ["prompts", "tasks"]
allow_origin = ["https://one.example/", "https://two.example"]
tls_cert = "cert.pem"
tls_key = "key.pem"
"""
TEXTS = """\
transport = "http"
port = "0"
workers = "2"
read_only = "yes"
libraries = "a:b"
toolsets = "prompts, tasks"
allow_origin = "https://one.example/,https://two.example"
tls_cert = "cert.pem"
tls_key = "key.pem"
"""


def in_file(folder: Path, text: str) -> dict[str, str]:
    (folder / "satchel.toml").write_text(text)
    return {"SATCHEL_HOME": str(folder)}


@pytest.mark.parametrize(("text", "libraries"), [(TYPED, ("a", "b:c")), (TEXTS, ("a", "b"))])
def test_the_file_takes_values_of_toml_and_texts(tmp_path: Path, text: str, libraries: tuple[str, ...]) -> None:
    settings = load({}, in_file(tmp_path, text))
    assert settings.http is not None
    assert (settings.http.port, settings.http.workers, settings.is_read_only) == (0, 2, True)
    assert (settings.libraries, settings.toolsets) == (libraries, ("prompts", "tasks"))
    assert settings.http.allow_origins == ("https://one.example", "https://two.example")
    assert (settings.http.tls_cert, settings.http.tls_key) == ("cert.pem", "key.pem")


def test_the_folders_of_libraries_may_begin_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    folders = ("/home/ada", "/home/ada/a", "a/~", "/~")
    environment = in_file(tmp_path, 'libraries = ["~", "~/a", "a/~", "/~"]\n')
    assert load({}, environment).libraries == folders
    assert load({}, {**environment, "SATCHEL_LIBRARIES": "~/b::/c:"}).libraries == ("/home/ada/b", "/c")
    assert load({"libraries": ["~/d:e"]}, environment).libraries == ("/home/ada/d:e",)
    assert load({}, {"SATCHEL_HOME": "/data", "SATCHEL_LIBRARIES": ":"}).libraries == (
        *("/data/libraries", "/home/ada/.local/share/twig/prompts"),
    )
    assert load({}, {"SATCHEL_HOME": "/data", "XDG_DATA_HOME": "/xdg"}).libraries[1] == "/xdg/twig/prompts"


def test_a_wrong_value_in_the_file_names_file_setting_and_what_it_takes(tmp_path: Path) -> None:
    for line, complaint in [
        ("port = true", "port must be a whole number from 0 to 65535, not True."),
        ("port = 65536", "port must be a whole number from 0 to 65535, not 65536."),
        ("port = 80.0", "port must be a whole number from 0 to 65535, not 80.0."),
        ('port = "http"', "port must be a whole number from 0 to 65535, not 'http'."),
        ("read_only = 1", "read_only must be yes or no, not 1."),
        ("database = 5", "database must be a text, not 5."),
        ("libraries = [1]", "libraries must be a list of texts, not [1]."),
        ('toolsets = ["all"]', "toolsets must be a list of prompts, documents or tasks, not ['all']."),
        ('transport = "smtp"', "transport must be stdio or http, not 'smtp'."),
        ('user = "ada"', "user must be a UUID, as `satchel user` prints one, not 'ada'."),
        ("[server]\nport = 1", "there is no setting 'server'."),
    ]:
        with pytest.raises(SettingsError) as raised:
            load({}, in_file(tmp_path, line))
        assert str(raised.value).startswith(f"{tmp_path / 'satchel.toml'}: {complaint}")


def test_a_file_that_is_not_toml_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read"):
        load({}, in_file(tmp_path, "port = = 1"))


def test_false_and_zero_in_a_nearer_source_win(tmp_path: Path) -> None:
    home = in_file(tmp_path, "read_only = true\nport = 9000\n")
    settings = load({"transport": "http", "port": "0"}, home | {"SATCHEL_READ_ONLY": "no"})
    assert settings.http is not None
    assert (settings.http.port, settings.is_read_only) == (0, False)


def test_settings_of_http_are_ignored_on_stdio(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    # Kubernetes sets this variable for a service that is called satchel.
    assert load({}, home | {"SATCHEL_PORT": "tcp://10.0.0.1:80"}).http is None
    with pytest.raises(SettingsError, match="SATCHEL_PORT must be a whole number"):
        load({"transport": "http"}, home | {"SATCHEL_PORT": "tcp://10.0.0.1:80"})


def test_a_certificate_needs_its_key_and_a_key_its_certificate(tmp_path: Path) -> None:
    for name in ("tls_cert", "tls_key"):
        with pytest.raises(SettingsError, match="--tls-cert and --tls-key belong together"):
            load({"transport": "http", name: "file.pem"}, {"SATCHEL_HOME": str(tmp_path)})


def test_every_setting_is_a_flag_of_serve_a_variable_and_a_name_in_the_file(tmp_path: Path) -> None:
    value = {"number": "3", "yes/no": "yes", "uuid": "11111111-1111-4111-8111-111111111111"}
    arguments: list[str] = []
    environment = {"SATCHEL_HOME": str(tmp_path / "none")}
    for setting in SETTINGS:
        text = setting.choices[-1] if setting.choices else value.get(setting.kind, "x")
        arguments += [setting.flags[0]] if setting.is_flag else [setting.flags[0], text]
        environment[setting.variable] = text
    flags = parse(arguments)
    assert flags is not None and set(flags) == {setting.name for setting in SETTINGS}
    by_flags = load(flags, {"SATCHEL_HOME": str(tmp_path / "none")})
    by_environment = load({"project": "x"}, environment)
    assert by_flags == by_environment
    lines = [f"{name} = {flag!r}" for name, flag in flags.items()]
    assert load({"project": "x"}, in_file(tmp_path, "\n".join(lines))).http == by_flags.http
