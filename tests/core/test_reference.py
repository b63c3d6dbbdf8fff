"""The compiled core equals the slow reference on any input, with any masks and rules."""

from __future__ import annotations

import os
from typing import Any

import rfc8785
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard import _core
from tests.core import reference
from tests.core.documents import broken, droppable, encoded, noisy, paths, strict

#: 2,000 unless somebody has time.
EXAMPLES = settings(max_examples=int(os.environ.get("LOOPGUARD_EXAMPLES", "2000")) // 4, deadline=None)
masks = st.one_of(st.just(0), st.just(_core.DEFAULT_MASK), st.integers(0, _core.DEFAULT_MASK))


def check(data: bytes, mask: int = 0, rules: dict[str, Any] | None = None) -> None:
    wanted = reference.run(data, mask, None if rules is None else reference.Rules(**rules))
    seen = _core.inspect(data, mask=mask, rules=None if rules is None else _core.Rules(**rules))
    assert (seen.canonical, seen.flags, seen.digest) == (wanted.canonical, wanted.flags, wanted.digest)


@EXAMPLES
@given(encoded(strict))
def test_equals_rfc8785_without_flags(data: bytes) -> None:
    import json

    wanted = rfc8785.dumps(json.loads(data))

    assert _core.canonicalize(data) == wanted
    assert _core.fingerprint_flags(data) == (xxhash.xxh3_128_digest(wanted), 0)


@EXAMPLES
@given(broken())
def test_equals_the_reference_on_anything(data: bytes) -> None:
    check(data)


@EXAMPLES
@given(encoded(noisy), masks)
def test_masks_equal_the_reference(data: bytes, mask: int) -> None:
    check(data, mask)


@EXAMPLES
@given(
    encoded(noisy),
    masks,
    st.fixed_dictionaries(
        {
            "drop": st.lists(droppable, max_size=3),
            "keep": st.one_of(st.just([]), st.lists(paths, max_size=3)),
            "mask": st.lists(st.tuples(paths, masks), max_size=3),
        }
    ),
)
def test_rules_equal_the_reference(data: bytes, mask: int, rules: dict[str, Any]) -> None:
    check(data, mask, rules)


@EXAMPLES
@given(broken())
def test_all_ways_to_the_digest_agree(data: bytes) -> None:
    seen = _core.inspect(data, mask=_core.DEFAULT_MASK)

    assert _core.fingerprint(data, mask=_core.DEFAULT_MASK) == seen.digest
    assert _core.fingerprint_flags(bytearray(data), mask=_core.DEFAULT_MASK) == (seen.digest, seen.flags)
    assert _core.canonicalize(memoryview(data), mask=_core.DEFAULT_MASK) == seen.canonical


@EXAMPLES
@given(broken())
def test_canonical_form_is_its_own_canonical_form_and_not_much_longer(data: bytes) -> None:
    canonical = _core.canonicalize(data)

    assert _core.canonicalize(canonical) == canonical
    # `1e20` becomes 21 digits: no token grows more.
    assert len(canonical) <= len(data) * 21 / 4
