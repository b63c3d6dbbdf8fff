"""A caller's slip is told where it is made: it must not look like a loop, or like another mode."""

import pytest

from loopguard.engine import Engine
from loopguard.errors import InvalidFrame
from loopguard.model import Call, Mode, Outcome, Record, RunOpen, Status


def test_words_are_taken_for_the_enums() -> None:
    assert Outcome(status="OK").status is Status.OK  # type: ignore[arg-type]  # what people write
    assert Record("t", status="ERROR").status is Status.ERROR  # type: ignore[arg-type]  # as above
    assert RunOpen("r", mode="OBSERVE").mode is Mode.OBSERVE  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize("word", ["ok", "ZZ", "", 1])
def test_unknown_words_are_refused(word: object) -> None:
    with pytest.raises(InvalidFrame, match="is no status: OK, ERROR"):
        Outcome(status=word)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(InvalidFrame, match="is no mode: ENFORCE, OBSERVE"):
        Engine().open("r", mode=word)  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize("text", ['{"a":1}', {"a": 1}, 5])
def test_json_comes_as_bytes(text: object) -> None:
    with pytest.raises(TypeError, match=r"Call\.args is JSON text as bytes"):
        Call("t", text)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(TypeError, match=r"Outcome\.result is JSON text as bytes"):
        Outcome(result=text)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(TypeError, match=r"Record\.private is JSON text as bytes"):
        Record("t", private=text)  # type: ignore[arg-type]  # the mistake under test


def test_a_profile_goes_with_the_run_s_id() -> None:
    assert Engine().open("r", profile="balanced").profile == "balanced"
