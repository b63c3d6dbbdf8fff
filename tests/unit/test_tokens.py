from __future__ import annotations

import hmac
from hashlib import sha256
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from loopguard.server.access import Access
from loopguard.server.status import StreamEnd
from loopguard.server.tokens import ANYBODY, Grant, Tokens, entry_of

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text(f"# ours\n\n{entry_of('acme', 'secret')}  # until spring\n{entry_of('acme', 'next')}\n")
    return path


def test_a_tenant_may_have_two_tokens(file: Path) -> None:
    tokens = Tokens.load(str(file))

    assert len(tokens) == 2
    found = tokens.find("secret"), tokens.find("next")
    assert [grant.tenant for grant in found if grant] == ["acme", "acme"]
    assert tokens.find("Secret") is None


@pytest.mark.parametrize("token", ["secret", "next", "wrong"])
def test_every_hash_is_compared_whichever_fits(file: Path, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return hmac.compare_digest(one, other)

    monkeypatch.setattr("loopguard.server.tokens.hmac", SimpleNamespace(compare_digest=compare))

    Tokens.load(str(file)).find(token)

    assert sorted(compared) == sorted(sha256(known).digest() for known in (b"secret", b"next"))


def test_the_file_holds_no_token(file: Path) -> None:
    assert "secret" not in file.read_text()
    assert "secret" not in repr(vars(Tokens.load(str(file))))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("acme", ":1: a line is a tenant and a hash"),
        ("acme sha256:12 x", ":1: a line is a tenant and a hash"),
        ("ac/me sha256:" + "0" * 64, ":1: a tenant's name"),
        ("acme canary", ":1: a hash is"),
        ("acme sha256:" + "A" * 64, ":1: a hash is"),
        (f"{entry_of('a', 'x')}\n{entry_of('b', 'x')}", ":2: this token stands there twice"),
    ],
)
def test_a_mistake_is_told_by_its_line_and_not_quoted(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(line)

    with pytest.raises(InvalidConfig) as mistake:
        Tokens.load(str(path))

    assert f"{path}{message}" in str(mistake.value)
    assert "canary" not in str(mistake.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="nowhere: No such file"):
        Tokens.load(str(tmp_path / "nowhere"))


def test_without_tokens_everybody_is_one_tenant() -> None:
    assert Access(None).admit([("authorization", "Bearer x")]) is ANYBODY


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        [("authorization", "")],
        [("authorization", "Bearer ")],
        [("authorization", "secret")],
        [("authorization", "Basic secret")],
        [("authorization", "Bearer wrong")],
        [("authorization", b"Bearer secret")],
        [("x-token", "Bearer secret")],
        [("authorization", "Bearer secret"), ("authorization", "Bearer secret")],
    ],
)
def test_what_is_no_known_token_is_refused(file: Path, metadata: list[tuple[str, str]]) -> None:
    access = Access(Tokens.load(str(file)))

    with pytest.raises(StreamEnd) as refused:
        access.admit(metadata)

    assert refused.value.code.name == "UNAUTHENTICATED"


def test_the_scheme_is_taken_in_any_case(file: Path) -> None:
    assert Access(Tokens.load(str(file))).admit([("authorization", "bearer secret")]).tenant == "acme"


def test_a_token_given_to_another_tenant_holds_no_longer(file: Path) -> None:
    access = Access(Tokens.load(str(file)))
    grant = access.admit([("authorization", "Bearer secret")])

    access.use(Tokens([Grant("other", grant.digest)]))

    assert not access.holds(grant)
