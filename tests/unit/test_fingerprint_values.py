"""Values that the core reads in one step are those that the rules' readers find, one by one."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopguard import _core
from loopguard.fingerprints.reading import compiled, place_reader, value_reader
from loopguard.rules.path import Path
from loopguard.rules.plan import Case
from loopguard.rules.rule import TYPES, Rule, Value

TAG = 3
NAMES = ("a", "b", "pid")
members = st.sampled_from(
    [None, b"null", b"0", b"-1.5", b"true", b"false", b'""', b'" "', b'" x\\n"', b'"x"', b"[]", b'{"a":1}']
)
texts = st.sampled_from([None, b'""', b'"said"', b'"<<<EXTERNAL_UNTRUSTED_CONTENT id=\\"0123456789abcdef\\">>>"'])
results = st.tuples(
    st.just(0), st.just(b'{"details":{}}'), st.just(True), st.booleans(), st.just(b"{}"), texts,
    st.lists(members, min_size=len(NAMES), max_size=len(NAMES)),
)  # fmt: skip
paths = st.sampled_from([Path("details", ("a",)), Path("details", ("b",)), Path("text", ()), Path("details", ())])
values = st.builds(
    Value,
    path=paths,
    only=st.sampled_from(("", *TYPES)),
    otherwise=st.none() | paths,
    default=st.sampled_from([b"null", b'""', b"0"]),
    exactly=st.sampled_from([b"", b"true", b'"x"']),
    trim=st.booleans(),
)


@given(st.lists(values, max_size=4), results)
def test_both_ways_to_read_values_agree(wanted: list[Value], parts: Any) -> None:
    rule = Rule("r", "test", (), values=tuple(wanted), volatile=("pid",))
    one_step = compiled(Case(rule, (rule,), ()), NAMES)
    assert one_step is not None

    digest, left_out, found = one_step.digest(TAG, parts)

    place = partial(place_reader, names=NAMES, action=b"")
    assert found == [value_reader(value, place, (rule,))(parts, []) for value in wanted]
    expected, nonces = _core.digest_canonical(TAG, found)
    assert digest == expected
    assert left_out == ["wrapper_nonce"] * nonces + ["pid"] * (parts[6][2] is not None)


def test_a_value_that_rules_edit_is_not_read_in_one_step() -> None:
    rule = Rule("r", "test", (), values=(Value(Path("details", ())),), drop=(Path("details", ("pid",)),))

    assert compiled(Case(rule, (rule,), ()), NAMES) is None
