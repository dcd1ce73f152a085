"""Each reader of the environment: what it takes, and the one line with which it refuses the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jobops import env

LANES = {"interactive": 4.0, "bulk": 1.0}
SQLITE = Path("/nowhere/default.sqlite3")
POSTGRES = "django.db.backends.postgresql"

TAKEN = [
    ("1", lambda: env.boolean("X", default=False), True),
    ("Yes", lambda: env.boolean("X", default=False), True),
    ("off", lambda: env.boolean("X", default=True), False),
    ("  ", lambda: env.boolean("X", default=True), True),
    ("2.5", lambda: env.number("X", default=1, minimum=0), 2.5),
    (" 7 ", lambda: env.integer("X", default=1, minimum=0), 7),
    ("a, b,,", lambda: env.words("X"), ["a", "b"]),
    ("tests.tools,json.decoder", lambda: env.modules("X"), ["tests.tools", "json.decoder"]),
    (
        "a.example.com, .example.org,[::1],*",
        lambda: env.hosts("X", ["d"]),
        ["a.example.com", ".example.org", "[::1]", "*"],
    ),
    ("", lambda: env.hosts("X", ["d"]), ["d"]),
    (
        "https://a.example.com,http://[::1]:8000,https://*.b.example.com:8443",
        lambda: env.origins("X"),
        ["https://a.example.com", "http://[::1]:8000", "https://*.b.example.com:8443"],
    ),
    ("team a", lambda: env.owner("X", "d"), "team a"),
    ("", lambda: env.owner("X", "d"), "d"),
    ("x" * 32, lambda: env.secret_key("X", None), "x" * 32),
    ("short", lambda: env.secret_key("X", None, shortest=1), "short"),
    ("JSON", lambda: env.choice("X", "text", ("text", "json")), "json"),
    ("now:3, later : 0.5", lambda: env.lanes("X", LANES), {"now": 3.0, "later": 0.5}),
    ("", lambda: env.lanes("X", LANES), LANES),
    ("bulk", lambda: env.lanes_of("X", LANES), ["bulk"]),
    ("", lambda: env.lanes_of("X", LANES), ["interactive", "bulk"]),
    ("", lambda: env.redis_url("X", "unix:///d"), "unix:///d"),
    ("rediss://:p@h:6380/2", lambda: env.redis_url("X", ""), "rediss://:p@h:6380/2"),
    ("unix:///run/redis.sock?db=3", lambda: env.redis_url("X", ""), "unix:///run/redis.sock?db=3"),
    ("", lambda: env.rq_sources("X"), {}),
    (
        "old=redis://:p,w@h:6379/0, shop-2=redis+sentinel://h,i:1/main,c=unix:///run/c.sock?rq_prefix=c",
        lambda: env.rq_sources("X"),
        {
            "old": "redis://:p,w@h:6379/0",
            "shop-2": "redis+sentinel://h,i:1/main",
            "c": "unix:///run/c.sock?rq_prefix=c",
        },
    ),
    ("redis+sentinel://h,i:1/main", lambda: env.redis_url("X", ""), "redis+sentinel://h,i:1/main"),
    ("rediss+sentinel://u:p@[::1]:1/main/2?sentinel_password=q", lambda: env.redis_url("X", "")[:8], "rediss+s"),
    ("postgres://u:p%40@h:5433/shop", lambda: env.database("X", SQLITE)["PASSWORD"], "p@"),
    ("postgresql://u@%2Frun%2Fpg/shop", lambda: env.database("X", SQLITE)["HOST"], "/run/pg"),
    ("postgres://u@h/shop?sslmode=require", lambda: env.database("X", SQLITE)["OPTIONS"], {"sslmode": "require"}),
    ("postgres://u@h/shop", lambda: env.database("X", SQLITE)["ENGINE"], POSTGRES),
    ("sqlite:////tmp/x.sqlite3", lambda: env.database("X", SQLITE)["NAME"], "/tmp/x.sqlite3"),
    ("", lambda: env.database("X", SQLITE)["NAME"], str(SQLITE)),
]
REFUSED = [
    ("redis://:secret@h:6379/0", lambda: env.rq_sources("X"), "a part without a name"),
    ("Old=redis://h", lambda: env.rq_sources("X"), "a part without a name"),
    ("old=redis://h,old=redis://i", lambda: env.rq_sources("X"), "names the source 'old' twice"),
    ("old=http://h", lambda: env.rq_sources("X"), "has the scheme 'http'"),
    ("old=redis://h/shop", lambda: env.rq_sources("X"), "names the database 'shop'"),
    ("maybe", lambda: env.boolean("X", default=False), "use 1 or 0"),
    ("many", lambda: env.integer("X", default=1, minimum=1), "whole number of at least 1"),
    ("1.5", lambda: env.integer("X", default=1, minimum=1), "whole number"),
    ("0", lambda: env.integer("X", default=1, minimum=1, maximum=9), "from 1 to 9"),
    ("nan", lambda: env.number("X", default=1, minimum=0), "use a number"),
    ("inf", lambda: env.number("X", default=1, minimum=0), "use a number"),
    ("-1", lambda: env.number("X", default=1, minimum=0), "at least 0"),
    ("big", lambda: env.integer("X", default=1, minimum=0, maximum=64 * 1024 * 1024), "from 0 to 67108864\n"),
    ("2e9", lambda: env.number("X", default=1, minimum=0.5, maximum=10_000_000), "from 0.5 to 10000000\n"),
    ("xml", lambda: env.choice("X", "text", ("text", "json")), "text, json"),
    ("shop.jobs,os; rm", lambda: env.modules("X"), "dotted names"),
    ("tests.tools,nosuch.jobs", lambda: env.modules("X"), "'nosuch.jobs', and 'nosuch' cannot be found"),
    ("tests.nosuch", lambda: env.modules("X"), "'tests.nosuch', which cannot be found"),
    ("tests.tools.nosuch", lambda: env.modules("X"), "cannot be found"),
    ("https://a.example.com", lambda: env.hosts("X", []), "no host name"),
    ("a.example.com:8000", lambda: env.hosts("X", []), "no scheme, port or path"),
    ("a b", lambda: env.hosts("X", []), "no host name"),
    ("a.example.com,,b.example.com", lambda: env.hosts("X", []), "empty part"),
    ("a.example.com,", lambda: env.hosts("X", []), "empty part"),
    ("a.example.com", lambda: env.origins("X"), "https://jobops.example.com"),
    ("ftp://a.example.com", lambda: env.origins("X"), "https:// or http://, then a host"),
    ("https://a.example.com/path", lambda: env.origins("X"), "no origin"),
    ("https://", lambda: env.origins("X"), "no origin"),
    ("https://a:b", lambda: env.origins("X"), "no origin"),
    ("   ", lambda: env.owner("X", "d"), "is blank"),
    ("o" * 101, lambda: env.owner("X", "d"), "at most 100"),
    ("s" * 31, lambda: env.secret_key("X", None), "at least 32"),
    ("sqlite:///shop.sqlite3", lambda: env.database("X", SQLITE), "four slashes"),
    ("sqlite://tmp/shop.sqlite3", lambda: env.database("X", SQLITE), "four slashes"),
    ("sqlite:////nowhere/at/all/x.sqlite3", lambda: env.database("X", SQLITE), "/nowhere/at/all, which is no folder"),
    ("sqlite:////tmp", lambda: env.database("X", SQLITE), "is a folder"),
    ("/etc/passwd", lambda: env.folder("X", SQLITE), "/etc/passwd is no folder"),
    ("/etc/passwd/below", lambda: env.folder("X", SQLITE), "/etc/passwd is no folder"),
    ("/tmp/" + "x" * 300, lambda: env.folder("X", SQLITE), "cannot be used (File name too long)"),
    ("interactive", lambda: env.lanes("X", LANES), "interactive:4,bulk:1"),
    ("fast:0", lambda: env.lanes("X", LANES), "above 0"),
    ("fast:nan", lambda: env.lanes("X", LANES), "above 0"),
    ("a.b:1", lambda: env.lanes("X", LANES), "lower-case"),
    ("a:1,a:2", lambda: env.lanes("X", LANES), "twice"),
    ("bulk,express", lambda: env.lanes_of("X", LANES), "'express', which does not exist: use some of interactive"),
    ("localhost:6379", lambda: env.redis_url("X", ""), "redis://localhost:6379/0"),
    ("http://h:1", lambda: env.redis_url("X", ""), "redis://HOST:PORT"),
    ("redis://h:port/0", lambda: env.redis_url("X", ""), "redis://"),
    ("redis://h/zero", lambda: env.redis_url("X", ""), "use a number"),
    ("redis:///0", lambda: env.redis_url("X", ""), "names no host"),
    ("unix://", lambda: env.redis_url("X", ""), "names no socket"),
    ("redis+sentinel://h:26379", lambda: env.redis_url("X", ""), "names no primary, as the Sentinels call it"),
    ("redis+sentinel:///main/0", lambda: env.redis_url("X", ""), "has no list of Sentinels"),
    ("redis+sentinel://h:1,i:x/main", lambda: env.redis_url("X", ""), "HOST:26379,HOST2:26379/MASTERNAME/0"),
    ("redis+sentinel://h:99999/main", lambda: env.redis_url("X", ""), "has no list of Sentinels"),
    ("redis+sentinel://h/main/zero", lambda: env.redis_url("X", ""), "names the database 'zero': use a number"),
    ("redis+sentinel://h/main?socket_timeout=x", lambda: env.redis_url("X", ""), "value for 'socket_timeout'"),
    ("mysql://u@h/shop", lambda: env.database("X", SQLITE), "postgres://"),
    ("postgres://u@h", lambda: env.database("X", SQLITE), "names no database"),
    ("nonsense", lambda: env.database("X", SQLITE), "is no URL"),
    ("postgres://[h/shop", lambda: env.database("X", SQLITE), "cannot be read"),
    ("", lambda: env.secret_key("X", None), "is not set"),
]


@pytest.mark.parametrize(("value", "read", "expected"), TAKEN, ids=[value or "unset" for value, _, _ in TAKEN])
def test_a_good_value_is_taken(
    value: str, read: Callable[[], object], expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X", value)
    assert read() == expected


@pytest.mark.parametrize(("value", "read", "hint"), REFUSED, ids=[value or "unset" for value, _, _ in REFUSED])
def test_a_bad_value_is_refused_in_one_line_that_names_the_variable_and_what_would_be_right(
    value: str,
    read: Callable[[], object],
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(SystemExit) as caught:
        read()
    assert caught.value.code == 2
    line = capsys.readouterr().err
    assert line.startswith("jobops: X ")
    assert line.count("\n") == 1
    assert hint in line


@pytest.mark.parametrize(
    "url",
    [
        *("redis://:s3cret/x@h:1/0", "redis://:s3cret@h:port/0", "http://u:s3cret@h"),
        *("redis+sentinel://:s3cret/x@h/main", "redis+sentinel://:s3cret@h", "redis+sentinel://:[s3cret@h/main"),
    ],
)
def test_a_refused_url_does_not_show_its_password(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("X", url)
    with pytest.raises(SystemExit):
        env.redis_url("X", "")
    assert "s3cret" not in capsys.readouterr().err


def test_a_made_secret_key_is_kept_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X", raising=False)
    key = env.secret_key("X", tmp_path / "var" / "key")
    assert len(key) >= 50
    assert env.secret_key("X", tmp_path / "var" / "key") == key
    assert (tmp_path / "var" / "key").stat().st_mode & 0o077 == 0
    assert [file.name for file in (tmp_path / "var").iterdir()] == ["key"]


def test_a_module_is_looked_for_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "bad_package"
    package.mkdir()
    for name in ("__init__", "jobs"):
        (package / f"{name}.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("X", "bad_package.jobs")
    assert env.modules("X") == ["bad_package.jobs"]
