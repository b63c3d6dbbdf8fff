"""Wire vectors: a message as protobuf JSON and as bytes, which have to mean the same."""

from __future__ import annotations

from google.protobuf import json_format
from google.protobuf.message import DecodeError

# Errors travel as `google.protobuf.Any`, whose JSON can only be read where its type is known.
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # noqa: F401  # it has no stubs

from loopguard.trace import Place, parse_object, parse_value
from loopguard.v1 import guard_pb2

_KEYS = frozenset(("name", "message", "json", "bytes"))


def run_wire(text: bytes, place: Place) -> tuple[str, list[str]]:
    """Run one case and return its name and what differs.

    `message` is the full name of a message, `json` is its protobuf JSON, `bytes` its encoding in hexadecimal.
    """
    fields = parse_object(text, "a vector", _KEYS, place)
    if missing := _KEYS - fields.keys():
        raise place.refuse(f"a wire vector needs `{min(missing)}`")
    name, kind = (str(parse_value(fields[key], key, place)) for key in ("name", "message"))
    package, _, short = kind.rpartition(".")
    if package != guard_pb2.DESCRIPTOR.package or short not in guard_pb2.DESCRIPTOR.message_types_by_name:
        raise place.refuse(f"there is no message `{kind}`")
    message_type = getattr(guard_pb2, short)
    try:
        encoded = bytes.fromhex(parse_value(fields["bytes"], "bytes", place))
    except (TypeError, ValueError):
        raise place.refuse("`bytes` must be hexadecimal") from None
    try:
        told = json_format.Parse(fields["json"], message_type())
    except json_format.ParseError as error:
        raise place.refuse(f"`json` is no {kind}: {' '.join(str(error).split())}") from None
    try:
        read = message_type.FromString(encoded)
    except DecodeError as error:
        return name, [f"the bytes are no {kind}: {error}"]
    problems = []
    if read != told:
        shown = json_format.MessageToJson(read, indent=None)
        problems.append(f"the bytes mean {shown}, expected {' '.join(fields['json'].decode().split())}")
    written = told.SerializeToString(deterministic=True)
    if written != encoded:
        problems.append(f"encoded as {written.hex()}, expected {encoded.hex()}")
    return name, problems
