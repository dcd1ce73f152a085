"""The settings of the alerts: read with one clear line for a bad one, and looked at before they go into service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from jobops import env
from tests.project.test_settings import start


def found() -> list[str]:
    return [
        message.id
        for message in run_checks(tags=["security"], include_deployment_checks=True)
        if message.id[:6] == "jobops"
    ]


def test_a_private_sink_is_flagged_before_it_goes_into_service(settings: Settings) -> None:
    settings.JOBOPS_BASE_URL = "https://jobops.example.com"
    assert found() == []
    settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = ["http://127.0.0.1:9009"]
    assert found() == ["jobops.W010"]


def test_links_without_a_host_are_told_of(settings: Settings) -> None:
    settings.JOBOPS_BASE_URL = ""
    assert found() == ["jobops.I010"]


def test_none_of_it_is_said_while_developing(settings: Settings) -> None:
    settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = ["http://127.0.0.1:9009"]
    assert [message.id for message in run_checks(tags=["security"])] == []


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("", ""),
        ("https://jobops.example.com", "https://jobops.example.com"),
        ("https://jobops.example.com/", "https://jobops.example.com"),
        ("http://10.0.0.4:8000/ops/", "http://10.0.0.4:8000/ops"),
    ],
)
def test_the_base_url(value: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBOPS_BASE_URL", value)
    assert env.base_url("JOBOPS_BASE_URL") == read


@pytest.mark.parametrize(
    "value",
    ["jobops.example.com", "ftp://h", "https://", "https://h/?a=1", "https://h/#x", "https://u:p@h", "https://h/<x>"],
)
def test_a_bad_base_url_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(env.base_url, "JOBOPS_BASE_URL", value, monkeypatch)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("", env.MailServer()),
        ("smtp://mail.example.com", env.MailServer("mail.example.com", 25)),
        ("smtp+tls://u:p%40ss@mail:2525", env.MailServer("mail", 2525, "u", "p@ss", starttls=True)),
        ("smtps://mail", env.MailServer("mail", 465, tls=True)),
    ],
)
def test_the_mail_server(value: str, read: env.MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBOPS_ALERT_MAIL_URL", value)
    assert env.mail_server("JOBOPS_ALERT_MAIL_URL") == read


@pytest.mark.parametrize("value", ["mail.example.com", "http://mail", "smtp://", "smtp://u:s3cr3t@mail:port"])
def test_a_bad_mail_server_is_refused_without_its_password(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "s3cr3t" not in refused(env.mail_server, "JOBOPS_ALERT_MAIL_URL", value, monkeypatch)


def refused(read: Callable[[str], Any], variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(variable, value)
    with pytest.raises(env.BadSetting) as error:
        read(variable)
    assert str(error.value).startswith(f"{variable} ")
    return str(error.value)


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({"ALLOWED_HOSTS": "jobops.example.com,10.0.0.4", "JOBOPS_HTTPS": "1"}, "https://jobops.example.com"),
        ({"ALLOWED_HOSTS": "jobops.example.com"}, ""),
        ({"ALLOWED_HOSTS": ".example.com", "JOBOPS_HTTPS": "1"}, ""),
        ({"ALLOWED_HOSTS": "*", "JOBOPS_HTTPS": "1"}, ""),
        ({"ALLOWED_HOSTS": "h", "JOBOPS_HTTPS": "1", "JOBOPS_BASE_URL": "https://other/ops/"}, "https://other/ops"),
    ],
)
def test_on_https_the_first_host_is_where_the_pages_are(variables: dict[str, str], url: str, tmp_path: Path) -> None:
    ended = start(tmp_path, "-c", "from jobops import settings as s; print(s.JOBOPS_BASE_URL)", **variables)
    assert ended.stdout == f"{url}\n", ended.stderr
