package io.loopguard.conformance;

import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A JSON object whose values keep their exact text. */
record Fields(String what, Map<String, String> values) {
  static Fields of(String text, String what) {
    return new Fields(what, Json.members(text, what));
  }

  /** Reads an object and refuses keys that are not known. */
  static Fields of(String text, String what, List<String> known) {
    Fields fields = of(text, what);
    fields.check(known);
    return fields;
  }

  void check(List<String> known) {
    for (String key : values.keySet()) {
      if (!known.contains(key)) {
        String all = String.join(", ", known);
        throw new BadCaseException(
            "unknown key `" + key + "` in " + what + " (known: " + all + ")");
      }
    }
  }

  boolean has(String key) {
    return values.containsKey(key);
  }

  Set<String> keys() {
    return values.keySet();
  }

  /** The text of a member, null where it is absent. */
  String raw(String key) {
    return values.get(key);
  }

  String required(String key) {
    if (!has(key)) {
      throw new BadCaseException(what + " needs `" + key + "`");
    }
    return raw(key);
  }

  /** A member that is a string, empty where it is absent. */
  String text(String key) {
    if (!has(key)) {
      return "";
    }
    if (!(Json.value(raw(key), "`" + key + "`") instanceof String text)) {
      throw new BadCaseException("`" + key + "` must be a string");
    }
    if (text.codePoints().anyMatch(c -> c >= 0xd800 && c <= 0xdfff)) {
      throw new BadCaseException("`" + key + "` holds half of a surrogate pair");
    }
    return text;
  }

  /** A member that is a list of names, empty where it is absent. */
  List<String> names(String key) {
    if (!has(key)) {
      return List.of();
    }
    return Json.items(raw(key), "`" + key + "`").stream()
        .map(item -> Json.value(item, "a name"))
        .map(
            item -> {
              if (item instanceof String name) {
                return name;
              }
              throw new BadCaseException("`" + key + "` must be a list of names");
            })
        .toList();
  }

  /** A member that is a whole number from 0 on. */
  int whole(String key) {
    if (Json.value(raw(key), "`" + key + "`") instanceof Double number
        && number >= 0
        && number <= Integer.MAX_VALUE
        && number == Math.rint(number)) {
      return number.intValue();
    }
    throw new BadCaseException("`" + key + "` must be a whole number");
  }

  byte[] base64(String key) {
    String text = text(key);
    try {
      byte[] data = Base64.getDecoder().decode(text);
      if (Base64.getEncoder().encodeToString(data).equals(text)) {
        return data;
      }
    } catch (IllegalArgumentException e) {
      throw new BadCaseException("`" + key + "` must be base64", e);
    }
    throw new BadCaseException("`" + key + "` must be base64");
  }

  byte[] hex(String key) {
    try {
      return HexFormat.of().parseHex(text(key));
    } catch (IllegalArgumentException e) {
      throw new BadCaseException("`" + key + "` must be hexadecimal", e);
    }
  }
}
