"""The files of deploy/ and examples/envoy: valid for what reads them, and in agreement with each other."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import compose_spec
import kubernetes_validate
import pytest
import yaml
from loopguard.server.limits import Limits
from loopguard.server.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy/compose.yaml"
MANIFESTS = sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))
#: The oldest Kubernetes for which the manifests are meant, and the newest that is known.
KUBERNETES = ["1.34", kubernetes_validate.latest_version()]
#: How the compose file asks for the password.
ASKED = "${VALKEY_PASSWORD:?the password of the store}"
#: How long a server takes beyond `drainGraceS`: gRPC's goodbye and the last traces.
AFTER_DRAIN_S = 3.0


@cache
def _manifests() -> list[dict[str, Any]]:
    return [document for file in MANIFESTS for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def manifest(kind: str) -> Any:
    (found,) = [document for document in _manifests() if document["kind"] == kind]
    return copy.deepcopy(found)


def pod() -> Any:
    return manifest("StatefulSet")["spec"]["template"]


def container() -> Any:
    (only,) = pod()["spec"]["containers"]
    return only


@cache
def _compose() -> dict[str, Any]:
    options = compose_spec.PyOptions(apply_merge=True)
    parsed = options.from_yaml(COMPOSE.read_text(encoding="utf-8"))
    parsed.validate()
    return dict(parsed.to_dict())


def compose() -> dict[str, Any]:
    return copy.deepcopy(_compose())


def test_compose_reads_its_file() -> None:
    services = compose()["services"]

    assert {"loopguard-1", "loopguard-2", "loopguard-3", "envoy", "valkey"} == services.keys()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("image: loopguard", "imag: loopguard"), ("networks: [loopguard]", "networks: [other]"), ("15s", "15 parsecs")],
)
def test_a_mistake_in_a_compose_file_is_noticed(right: str, wrong: str) -> None:
    text = COMPOSE.read_text(encoding="utf-8")
    assert right in text

    with pytest.raises(ValueError, match=r"."):
        compose_spec.PyOptions(apply_merge=True).from_yaml(text.replace(right, wrong)).validate()


@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_takes_every_manifest(version: str) -> None:
    kinds = set()
    for document in _manifests():
        kubernetes_validate.validate(document, version, strict=True)
        kinds.add(document["kind"])

    assert kinds >= {"StatefulSet", "Service", "PodDisruptionBudget", "ConfigMap", "Secret", "NetworkPolicy"}


@pytest.mark.parametrize(("key", "value"), [("replicas", "three"), ("replica", 3)])
def test_a_mistake_in_a_manifest_is_noticed(key: str, value: object) -> None:
    wrong = manifest("StatefulSet")
    wrong["spec"][key] = value

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES[0], strict=True)


def test_what_selects_pods_selects_these() -> None:
    labels = pod()["metadata"]["labels"]
    selectors = [
        manifest("Service")["spec"]["selector"],
        manifest("StatefulSet")["spec"]["selector"]["matchLabels"],
        manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    ]

    assert all(selector.items() <= labels.items() for selector in selectors)
    assert manifest("StatefulSet")["spec"]["serviceName"] == manifest("Service")["metadata"]["name"]
    assert manifest("Service")["spec"]["clusterIP"] == "None"
    assert manifest("PodDisruptionBudget")["spec"]["maxUnavailable"] < manifest("StatefulSet")["spec"]["replicas"]


def test_ports_are_those_that_the_image_serves() -> None:
    served = {port["name"]: port["containerPort"] for port in container()["ports"]}
    image = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")

    assert f"LOOPGUARD_ADDRESS=0.0.0.0:{served['grpc']}" in image
    assert f"LOOPGUARD_METRICS_ADDRESS=0.0.0.0:{served['metrics']}" in image
    assert f"EXPOSE {served['grpc']} {served['metrics']}" in image
    assert {port["targetPort"] for port in manifest("Service")["spec"]["ports"]} == served.keys()
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container()[probe]["grpc"]["port"] == served["grpc"]
    assert container()["readinessProbe"]["grpc"]["service"] == "loopguard.v1.LoopGuardService"


def test_nodes_have_the_time_to_drain() -> None:
    grace_s = Settings().drain_grace_s + AFTER_DRAIN_S
    before_s = container()["lifecycle"]["preStop"]["sleep"]["seconds"]

    assert pod()["spec"]["terminationGracePeriodSeconds"] >= before_s + grace_s
    for name in ("loopguard-1", "loopguard-2", "loopguard-3"):
        assert compose_spec.parse_duration(compose()["services"][name]["stop_grace_period"]) >= grace_s


def test_nodes_run_without_rights() -> None:
    security, around = container()["securityContext"], pod()["spec"]["securityContext"]
    user = f"USER {around['runAsUser']}:{around['runAsGroup']}"

    assert user in (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
    assert around["runAsNonRoot"] is security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is pod()["spec"]["automountServiceAccountToken"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    for name, service in compose()["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name


def compose_node() -> tuple[str, str]:
    """Return a node's configuration and store."""
    made = compose()
    (mounted,) = made["services"]["loopguard-1"]["configs"]
    store = made["services"]["loopguard-1"]["environment"]["LOOPGUARD_STORE"]
    return made["configs"][mounted["source"]]["content"], store.replace(ASKED, "secret")


def kubernetes_node() -> tuple[str, str]:
    """Return a node's configuration and store."""
    (volume,) = pod()["spec"]["volumes"]
    assert volume["configMap"]["name"] == manifest("ConfigMap")["metadata"]["name"]
    (variable,) = container()["env"]
    reference = variable["valueFrom"]["secretKeyRef"]
    assert (variable["name"], reference["name"]) == ("LOOPGUARD_STORE", manifest("Secret")["metadata"]["name"])
    return manifest("ConfigMap")["data"]["loopguard.json5"], manifest("Secret")["stringData"][reference["key"]]


@pytest.mark.parametrize("node", [compose_node, kubernetes_node])
def test_the_service_takes_its_configuration_and_store(node: Callable[[], tuple[str, str]], tmp_path: Path) -> None:
    text, store = node()
    (tmp_path / "loopguard.json5").write_text(text, encoding="utf-8")
    environment = {"LOOPGUARD_ADDRESS": "0.0.0.0:50051", "LOOPGUARD_STORE": store}

    settings, configuration = load_settings(environment, config=str(tmp_path / "loopguard.json5"))

    assert settings.store.startswith(("redis://:", "rediss://:"))
    assert configuration.effective().enabled is True


def test_envoy_knows_the_nodes_of_the_compose_file() -> None:
    resources = envoy()["static_resources"]
    (endpoints,) = resources["clusters"][0]["load_assignment"]["endpoints"]
    addresses = [entry["endpoint"]["address"]["socket_address"] for entry in endpoints["lb_endpoints"]]
    listener = resources["listeners"][0]["address"]["socket_address"]["port_value"]

    assert [address["address"] for address in addresses] == ["loopguard-1", "loopguard-2", "loopguard-3"]
    assert {address["port_value"] for address in addresses} == {container()["ports"][0]["containerPort"]}
    assert f":{listener}:{listener}" in json.dumps(compose()["services"]["envoy"]["ports"])


def envoy() -> Any:
    return yaml.safe_load((ROOT / "examples/envoy/envoy.yaml").read_text(encoding="utf-8"))


def test_envoy_lets_streams_last_and_opens_no_more_than_a_node_takes() -> None:
    resources = envoy()["static_resources"]
    manager = resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    (options,) = resources["clusters"][0]["typed_extension_protocol_options"].values()
    upstream = options["explicit_http_config"]["http2_protocol_options"]
    (thresholds,) = resources["clusters"][0]["circuit_breakers"]["thresholds"]

    assert manager["stream_idle_timeout"] == manager["request_timeout"] == "0s"
    for route in manager["route_config"]["virtual_hosts"][0]["routes"]:
        assert route["route"]["timeout"] == route["route"]["idle_timeout"] == "0s"
    assert upstream["max_concurrent_streams"] <= Limits().streams_per_connection
    assert thresholds["max_requests"] >= 3 * Limits().runs
