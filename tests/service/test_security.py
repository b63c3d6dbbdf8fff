"""Attacks what docs/security.md promises."""

from __future__ import annotations

import asyncio
import datetime
import logging
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from grpc_health.v1 import health_pb2, health_pb2_grpc
from loopguard.server.certificates import Certificate
from loopguard.server.settings import Settings

from loopguard.errors import InvalidConfig
from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import running
from tests.service.secrets import Authority, bearer, write_tokens
from tests.service.wire import METHOD, Ended, Peer, batch, call, open_frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.service.conftest import Server

YEAR_2020 = {
    "not_before": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    "not_after": datetime.datetime(2020, 2, 1, tzinfo=datetime.UTC),
}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def settings(**fields: Any) -> Settings:
    return Settings(address="127.0.0.1:0", drain_grace_s=0, **fields)


def named(server: Server) -> str:
    return f"localhost:{server.address.rpartition(':')[2]}"


async def one_run(channel: grpc.aio.Channel, run_id: str = "r") -> None:
    peer = Peer(channel)
    await peer.open(run_id)
    await peer.close()


async def test_over_tls_a_run_is_guarded(authority: Authority) -> None:
    async with running(settings(**authority.write())) as server, authority.channel(named(server)) as channel:
        await one_run(channel)


async def test_without_tls_nobody_gets_in(authority: Authority) -> None:
    async with running(settings(**authority.write())) as server:
        async with grpc.aio.insecure_channel(server.address) as channel:
            with pytest.raises(Ended) as ended:
                await Peer(channel).open()

        assert ended.value.code is grpc.StatusCode.UNAVAILABLE


async def test_without_a_certificate_of_the_right_authority_no_client_gets_in(
    authority: Authority, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other")
    async with running(settings(**authority.write(), **authority.write_client_ca())) as server:
        async with authority.channel(named(server), client_of=authority) as channel:
            await one_run(channel)
        for client_of in (None, stranger):
            async with authority.channel(named(server), client_of=client_of) as channel:
                with pytest.raises(Ended) as ended:
                    await Peer(channel).open()
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
            assert ended.value.code is error.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_new_certificate_is_presented_without_a_restart(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    successor = Authority(tmp_path / "other")
    async with running(settings(**authority.write())) as server, authority.channel(named(server)) as channel:
        before = Peer(channel)
        await before.open("before")
        successor.write()
        for name in ("server.pem", "server.key"):
            (tmp_path / "other" / name).replace(tmp_path / name)

        await server.service.reload()

        async with successor.channel(named(server)) as fresh:
            await one_run(fresh, "after")
        async with authority.channel(named(server)) as stale:
            with pytest.raises(Ended):
                await Peer(stale).open()
        await before.tell(calls=batch(call()))
        await before.close()


async def test_a_certificate_that_expires_takes_no_stream_down_and_is_replaced(authority: Authority) -> None:
    async with running(settings(**authority.write())) as server, authority.channel(named(server)) as channel:
        peer = Peer(channel)
        await peer.open()

        # What gRPC would present once its time has come.
        certificates = server.service._certificates
        good, paths = certificates.current, authority.write(**YEAR_2020)
        with pytest.raises(InvalidConfig, match="has expired"):
            type(good).load(settings(**paths))
        certificates.use(expired(paths))
        async with authority.channel(named(server)) as late:
            with pytest.raises(Ended):
                await Peer(late).open("late")
        await peer.tell(calls=batch(call()))
        authority.write()
        await server.service.reload()

        async with authority.channel(named(server)) as again:
            await one_run(again, "again")
        await peer.close()


def expired(paths: dict[str, str]) -> Certificate:
    from pathlib import Path

    chain, key = (Path(paths[name]).read_bytes() for name in ("tls_certificate", "tls_key"))
    return Certificate(chain, key, None, 0.0)


@pytest.mark.parametrize("broken", ["expired", "no certificate", "another key", "gone"])
async def test_a_bad_certificate_leaves_the_last_good_one_in_use(
    authority: Authority, tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(settings(**authority.write())) as server:
        if broken == "expired":
            authority.write(**YEAR_2020)
        elif broken == "no certificate":
            (tmp_path / "server.pem").write_text("nonsense")
        elif broken == "another key":
            key = (tmp_path / "server.key").read_bytes()
            authority.write()
            (tmp_path / "server.key").write_bytes(key)
        else:
            (tmp_path / "server.pem").unlink()

        await server.service.reload()

        assert [record.message for record in caplog.records if record.levelname == "ERROR"] == ["reload failed"]
        async with authority.channel(named(server)) as channel:
            await one_run(channel)


def test_certificates_that_can_not_be_used_are_refused_in_plain_words(authority: Authority, tmp_path: Path) -> None:
    files = authority.write() | authority.write_client_ca()
    (tmp_path / "bad").mkdir()
    empty, folder, cut, locked = (tmp_path / "bad" / name for name in ("empty", "folder", "cut", "locked"))
    empty.touch()
    folder.mkdir()
    cut.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    locked.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
    certificate, key = ed25519_pair(tmp_path / "bad")
    for changed, message in [
        ({"tls_certificate": empty}, f"{empty}: there is no certificate in PEM in it"),
        ({"tls_key": files["tls_certificate"]}, "server.pem: there is no private key in PEM in it"),
        ({"tls_key": locked}, f"{locked}: the key is encrypted"),
        ({"tls_client_ca": folder}, f"{folder}: Is a directory"),
        ({"tls_client_ca": files["tls_key"]}, "server.key: there is no certificate in PEM in it"),
        ({"tls_certificate": cut}, "what stands between the lines of PEM can't be read"),
        ({"tls_key": key}, "the key is not the certificate's"),
        # It would listen, and nobody would get in.
        ({"tls_certificate": certificate, "tls_key": key}, f"{certificate}: gRPC does not speak Ed25519"),
    ]:
        with pytest.raises(InvalidConfig) as mistake:
            Certificate.load(settings(**files | {name: str(path) for name, path in changed.items()}))
        assert message in str(mistake.value)


def ed25519_pair(folder: Path) -> tuple[Path, Path]:
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, None)
    )
    paths = folder / "ed25519.pem", folder / "ed25519.key"
    paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return paths


def test_how_long_a_certificate_is_good_is_known(authority: Authority) -> None:
    from loopguard.server.certificates import Certificate

    until = datetime.datetime(2999, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)

    certificate = Certificate.load(settings(**authority.write(not_after=until)))

    assert certificate.expires_at == until.timestamp()


class Tenants:
    """A server with the tenants `acme` and `rival`, each with one token, and a channel to it."""

    def __init__(self, server: Server, channel: grpc.aio.Channel, path: Path) -> None:
        self.server = server
        self.channel = channel
        self._path = path

    def peer(self, token: str | None, method: str = "Guard") -> Peer:
        return Peer(self.channel, method, None if token is None else bearer(token))

    async def give(self, **tokens: str) -> None:
        write_tokens(self._path, **tokens)
        await self.server.service.reload()


@pytest.fixture
async def tenants(tmp_path: Path) -> AsyncIterator[Tenants]:
    path = tmp_path / "tokens"
    tokens_file = write_tokens(path, acme="acme-secret", rival="rival-secret")
    async with (
        running(settings(tokens_file=tokens_file)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        yield Tenants(server, channel, path)


@pytest.mark.parametrize("token", [None, "wrong", "acme"])
@pytest.mark.parametrize("method", ["Guard", "GuardMany"])
async def test_without_a_known_token_no_stream_is_served(tenants: Tenants, token: str | None, method: str) -> None:
    peer = tenants.peer(token, method)

    with pytest.raises(Ended) as ended:
        await peer.read()

    assert (ended.value.code.name, ended.value.reason) == ("UNAUTHENTICATED", "UNAUTHENTICATED")
    assert token is None or "wrong" not in str(ended.value)


async def test_without_a_known_token_nothing_is_hashed(tenants: Tenants) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await tenants.channel.unary_unary(METHOD + "Fingerprint")(b"")

    assert Ended(error.value).reason == "UNAUTHENTICATED"


async def test_health_is_told_to_everybody(tenants: Tenants) -> None:
    response = await health_pb2_grpc.HealthStub(tenants.channel).Check(health_pb2.HealthCheckRequest())

    assert response.status == health_pb2.HealthCheckResponse.SERVING


async def test_a_run_of_another_tenant_is_neither_resumed_nor_superseded(tenants: Tenants) -> None:
    ours, theirs = tenants.peer("acme-secret"), tenants.peer("rival-secret")
    await ours.open("r")
    for _ in range(3):
        await ours.run(args={"same": 1})

    opened = await theirs.open("r", resume=True)
    verdict = await theirs.run(args={"same": 1})
    answer = await ours.tell(calls=batch(call(args={"same": 1})))

    assert (opened.opened.last_seq, opened.opened.epoch) == (0, 1)
    assert verdict.action == pb.ACTION_ALLOW
    assert answer.verdicts.verdicts[0].finding.count >= 3
    await theirs.close()
    await ours.close()


async def test_among_many_too_a_tenant_gets_its_own_runs_only(tenants: Tenants) -> None:
    ours, theirs = tenants.peer("acme-secret"), tenants.peer("rival-secret", "GuardMany")
    await ours.open("r")
    await ours.tell(user_message=pb.UserMessage())
    frames = [open_frame("r", resume=True), pb.GuardRequest(seq=1, close=pb.RunClose())]

    answers = await theirs.ask(pb.GuardManyRequest(runs=[pb.RunFrames(run_id="r", frames=frames)]))

    assert answers.runs[0].answers[0].opened.last_seq == 0
    assert answers.runs[0].answers[1].HasField("ack")
    assert (await ours.tell(user_message=pb.UserMessage())).HasField("ack")
    await theirs.half_close()
    await ours.close()


@pytest.mark.parametrize("name", ["rival\x00r", "rival/r", "('rival', 'r')"])
async def test_no_run_id_leads_to_another_tenant(tenants: Tenants, name: str) -> None:
    theirs, ours = tenants.peer("rival-secret"), tenants.peer("acme-secret")
    await theirs.open("r")
    await theirs.tell(user_message=pb.UserMessage())

    opened = await ours.open(name, resume=True)

    assert opened.opened.last_seq == 0
    await ours.close()
    await theirs.close()


@pytest.mark.parametrize("method", ["Guard", "GuardMany"])
async def test_a_token_taken_away_ends_its_stream(tenants: Tenants, method: str) -> None:
    ours, theirs = tenants.peer("acme-secret", method), tenants.peer("rival-secret")
    await ours.ask(open_frame() if method == "Guard" else pb.GuardManyRequest())
    await theirs.open()

    await tenants.give(rival="rival-secret")
    with pytest.raises(Ended) as ended:
        await ours.read()

    assert (ended.value.code.name, ended.value.reason) == ("UNAUTHENTICATED", "UNAUTHENTICATED")
    await theirs.tell(calls=batch(call()))
    await theirs.close()
    await asyncio.wait_for(tenants.server.service.servicer.emptied(), 5)
    tenants.server.sessions.evict(0)


async def test_a_token_is_replaced_while_its_run_goes_on(tenants: Tenants) -> None:
    before = tenants.peer("acme-secret")
    await before.open("r")
    await before.tell(user_message=pb.UserMessage())
    await tenants.give(acme="acme-next", rival="rival-secret")
    with pytest.raises(Ended):
        await before.read()

    after = tenants.peer("acme-next")
    opened = await after.open("r", resume=True)

    assert opened.opened.last_seq == 1
    await after.close()


async def test_a_bad_tokens_file_shuts_nobody_out_and_lets_nobody_in(tenants: Tenants, tmp_path: Path) -> None:
    ours = tenants.peer("acme-secret")
    await ours.open()
    (tmp_path / "tokens").write_text("nonsense")

    await tenants.server.service.reload()

    await ours.tell(calls=batch(call()))
    with pytest.raises(Ended):
        await tenants.peer("nonsense").read()
    await ours.close()


async def test_a_changed_tokens_file_is_seen_without_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    watched = settings(tokens_file=write_tokens(path, acme="one"), reload_poll_s=0.01)
    async with running(watched) as server, grpc.aio.insecure_channel(server.address) as channel:
        ours = Peer(channel, metadata=bearer("one"))
        await ours.open()
        write_tokens(path, acme="another")

        with pytest.raises(Ended) as ended:
            await asyncio.wait_for(ours.read(), 5)

        assert ended.value.reason == "UNAUTHENTICATED"
        await asyncio.wait_for(server.service.servicer.emptied(), 5)
        server.sessions.evict(0)


async def test_no_argument_and_no_outcome_stands_in_a_log_or_an_error(
    server: Server, channel: grpc.aio.Channel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way to be refused, and a failure of our own whose text quotes the arguments."""
    canary = "c4n4ry"
    peer = Peer(channel)
    caplog.set_level(logging.DEBUG)
    await peer.open()
    argument = call(args={"text": canary})
    outcome = pb.Outcome(call_id="c1", status=pb.STATUS_OK, result_json=canary.encode())
    said = [
        await peer.tell(calls=batch(argument, argument)),
        await peer.tell(calls=batch(pb.Call(tool=" ", args_json=canary.encode()))),
        await peer.tell(calls=batch(pb.Call(tool="exec", call_id="x", args_digest=canary.encode()))),
        await peer.tell(outcome=outcome),
        await peer.tell(outcome=outcome),
        await peer.tell(outcome=pb.Outcome(call_id="nobody", error_json=canary.encode())),
        await peer.tell(history=pb.History(records=[pb.Record(tool="", args_json=canary.encode())])),
        await peer.ask(b"\xff" + canary.encode()),
    ]
    peer._seq += 1

    def fail(_run: Any, frame: Any, _at: Any) -> Any:
        raise RuntimeError(repr(frame))

    (session,) = server.sessions
    with monkeypatch.context() as patch:
        patch.setattr(type(session.run), "answer", fail)
        server.take_the_long_way()
        said.append(await peer.tell(calls=batch(argument)))
    await peer.close()

    assert said[-1].error.status.code == grpc.StatusCode.INTERNAL.value[0]
    assert any("RuntimeError" in record.getMessage() for record in caplog.records)
    assert canary not in str(said)
    assert canary.encode() not in b"".join(answer.SerializeToString() for answer in said)
    assert canary not in caplog.text
    assert not any(canary in repr(vars(record)) for record in caplog.records)
