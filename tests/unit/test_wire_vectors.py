from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import json_format, symbol_database
from google.rpc import error_details_pb2

from loopguard.v1 import guard_pb2 as pb

if TYPE_CHECKING:
    from google.protobuf.message import Message

FILE = Path(__file__).parents[2] / "conformance" / "wire.jsonl"
VECTORS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
#: The details of a status are told by their type's name, which has to be known for JSON.
assert error_details_pb2.DESCRIPTOR


def message_class(name: str) -> type[Message]:
    return symbol_database.Default().GetSymbol(name)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_json_and_bytes_are_the_same_message(vector: dict[str, Any]) -> None:
    kind = message_class(vector["message"])

    from_bytes = kind.FromString(bytes.fromhex(vector["bytes"]))
    from_json = json_format.ParseDict(vector["json"], kind())

    assert from_bytes == from_json
    assert json_format.MessageToDict(from_bytes) == vector["json"]
    assert from_json.SerializeToString(deterministic=True).hex() == vector["bytes"]


def test_there_are_enough_cases_and_none_twice() -> None:
    names = [vector["name"] for vector in VECTORS]

    assert len(names) >= 60
    assert len(set(names)) == len(names)


def test_every_message_field_and_enum_value_occurs() -> None:
    seen: set[str] = set()
    for vector in VECTORS:
        walk(message_class(vector["message"]).FromString(bytes.fromhex(vector["bytes"])), seen)

    wanted = {name for name, descriptor in pb.DESCRIPTOR.message_types_by_name.items()}
    wanted |= {
        f"{name}.{field.name}"
        for name, descriptor in pb.DESCRIPTOR.message_types_by_name.items()
        for field in descriptor.fields
    }
    values = {
        value.name
        for enum in pb.DESCRIPTOR.enum_types_by_name.values()
        for value in enum.values
        if value.number or f"enum/{value.name}" not in {vector["name"] for vector in VECTORS}
    }
    assert (wanted | values) - seen == set()


def walk(message: Any, seen: set[str]) -> None:
    """Note the message, the fields that are set in it, and the enum values that they have."""
    seen.add(message.DESCRIPTOR.name)
    for field, value in message.ListFields():
        seen.add(f"{message.DESCRIPTOR.name}.{field.name}")
        for item in value if isinstance(value, list) or hasattr(value, "add") or hasattr(value, "append") else [value]:
            if field.enum_type is not None and item in field.enum_type.values_by_number:
                seen.add(field.enum_type.values_by_number[item].name)
            elif field.message_type is not None and field.message_type.file is pb.DESCRIPTOR:
                walk(item, seen)
