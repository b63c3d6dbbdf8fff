use super::*;

fn canonical(json: &str) -> (String, Flags) {
    let (text, flags) = canonicalize(json.as_bytes());
    (String::from_utf8(text.into_owned()).unwrap(), flags)
}

#[test]
fn canonical_form() {
    let deep = "[".repeat(256) + &"]".repeat(256);
    let none = Flags::empty();
    let cases = [
        (" { \"a\" : [ 1 , true ,\tnull ] }\r\n", r#"{"a":[1,true,null]}"#, none),
        ("[9007199254740991,-0,0]", "[9007199254740991,0,0]", none),
        ("[9007199254740992,-1234567890123456789]", "[9007199254740992,-1234567890123456789]", Flags::BIGINT),
        (
            "[1.0,1e3,1E-7,123e-8,1e21,1e20,0.1,5e-324,-0.0,1e-400]",
            "[1,1000,1e-7,0.00000123,1e+21,100000000000000000000,0.1,5e-324,0,0]",
            none,
        ),
        (
            "[4.350,9007199254740993.0,1.7976931348623157e308,0.30000000000000004]",
            "[4.35,9007199254740992,1.7976931348623157e+308,0.30000000000000004]",
            none,
        ),
        ("[1E+400,-1.50e400,1e99999999999999999999]", "[1e400,-1.50e400,1e99999999999999999999]", Flags::OVERFLOW),
        ("[0e99999999999999999999,1e-99999999999999999999]", "[0,0]", none),
        (r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"a":3,"b":2}"#, Flags::DUPLICATE_KEY),
        (r#"{"a":1e999,"a":1}"#, r#"{"a":1}"#, Flags::DUPLICATE_KEY.union(Flags::OVERFLOW)),
        (
            r#"["\ud83d\ude00","\uD83D","\ude00x","\ud83d\ud83d\ude00"]"#,
            "[\"\u{1f600}\",\"\\ud83d\",\"\\ude00x\",\"\\ud83d\u{1f600}\"]",
            Flags::SURROGATE,
        ),
        (r#""\u0041\/\"\\\b\f\n\r\t\u0001\u001F\u007f""#, "\"A/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\"", none),
        (
            "{\"\u{ffff}\":1,\"\u{10000}\":2,\"\u{fb33}\":3,\"a\":4,\"\":5}",
            "{\"\":5,\"a\":4,\"\u{10000}\":2,\"\u{fb33}\":3,\"\u{ffff}\":1}",
            none,
        ),
        (
            "{\"\\ud900\":1,\"\u{10000}\":2,\"\u{e000}\":3,\"\\ud800\":4}",
            "{\"\\ud800\":4,\"\u{10000}\":2,\"\\ud900\":1,\"\u{e000}\":3}",
            Flags::SURROGATE,
        ),
        (r#"{"\ud800":1,"\ud801":2}"#, r#"{"\ud800":1,"\ud801":2}"#, Flags::SURROGATE),
        (&deep, &deep, none),
    ];
    for (json, text, flags) in cases {
        assert_eq!(canonical(json), (text.to_owned(), flags), "{json}");
    }
}

#[test]
fn what_is_no_json_is_opaque() {
    let deep = "[".repeat(257) + &"]".repeat(257);
    let texts = [
        "",
        " ",
        "NaN",
        "-Infinity",
        "\u{feff}1",
        "1 2",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "1e+",
        "tru",
        "truex",
        "\"",
        "\"\u{1}\"",
        r#""\x""#,
        r#""\u12g4""#,
        r#""\u123"#,
        "[1,]",
        "[,1]",
        "[1",
        "{",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        "{,}",
        "{1:2}",
        r#"{"a":1 "b":2}"#,
        "[1\u{a0}]",
        "\0",
        "1\0",
        &deep,
    ];
    for text in texts {
        assert_eq!(canonical(text), (text.to_owned(), Flags::OPAQUE));
    }
    for bytes in [&b"\"\xff\""[..], b"\"\xed\xa0\x80\"", b"\xc0\x80"] {
        assert_eq!(canonicalize(bytes), (Cow::Borrowed(bytes), Flags::OPAQUE));
    }
}

#[test]
fn opaque_text_never_has_the_digest_of_a_value() {
    let text = (Cow::Borrowed(&b"{\"a\":1}"[..]), Flags::OPAQUE);
    assert_ne!(Digest::sum(&text), Digest::of(&text.0));
}

#[test]
fn the_digest_is_xxh3() {
    // From conformance/canon.jsonl.
    assert_eq!(Digest::of(b"-0").to_string(), "ce8f15881282a4001982e3a7bb241055");
}

#[test]
fn an_exec_title_is_no_argument() {
    let of = |tool, json: &str| Digest::of_arguments(tool, json.as_bytes());
    let empty = Digest::of(b"{}");
    assert_eq!(of("read", ""), empty);
    assert_eq!(of("exec", r#"{"title": "x"}"#), empty);
    for tool in ["exec", " Exec\u{feff}", "BASH", "\u{a0}bash\n"] {
        let titled = of(tool, r#"{"\u0074itle":1,"b":{"title":2},"title":1e999}"#);
        assert_eq!(titled, of(tool, r#"{"b":{"title":2}}"#), "{tool:?}");
    }
    assert_eq!(canonicalize_without(br#"{"title":1,"title":1e999}"#, Some("title")).1, Flags::empty());
    assert_ne!(of("exec2", r#"{"title":1}"#), empty);
    assert_ne!(of("exec", r#"{"b":{"title":1}}"#), of("exec", r#"{"b":{}}"#));
}

#[test]
fn flags_have_their_names_in_order() {
    assert_eq!(
        Flags::all().names().collect::<Vec<_>>(),
        ["BIGINT", "OVERFLOW", "DUPLICATE_KEY", "SURROGATE", "OPAQUE"]
    );
}
