package io.loopguard.conformance;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON so that the text of values is kept. */
final class Json {
  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(Integer.MAX_VALUE)
                  .maxNumberLength(Integer.MAX_VALUE)
                  .maxStringLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private Json() {}

  /** Something that reads from a parser. */
  private interface Reading<T> {
    T read(JsonParser parser) throws IOException;
  }

  private static <T> T read(String text, String what, Reading<T> reading) {
    try (JsonParser parser = FACTORY.createParser(text)) {
      parser.nextToken();
      T found = reading.read(parser);
      if (parser.nextToken() != null) {
        throw new BadCaseException(what + " is more than one value");
      }
      return found;
    } catch (IOException e) {
      throw new BadCaseException(what + " is no valid JSON: " + e.getMessage(), e);
    }
  }

  /** The members of an object as JSON texts. */
  static Map<String, String> members(String text, String what) {
    return read(
        text,
        what,
        parser -> {
          if (parser.currentToken() != JsonToken.START_OBJECT) {
            throw new BadCaseException(what + " must be an object");
          }
          Map<String, String> found = new LinkedHashMap<>();
          while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String key = parser.currentName();
            parser.nextToken();
            if (found.put(key, textOf(parser, text)) != null) {
              throw new BadCaseException("key `" + key + "` stands twice in " + what);
            }
          }
          return found;
        });
  }

  /** The items of an array as JSON texts. */
  static List<String> items(String text, String what) {
    if (text == null) {
      throw new BadCaseException(what + " must be an array");
    }
    return read(
        text,
        what,
        parser -> {
          if (parser.currentToken() != JsonToken.START_ARRAY) {
            throw new BadCaseException(what + " must be an array");
          }
          List<String> found = new ArrayList<>();
          while (parser.nextToken() != JsonToken.END_ARRAY) {
            found.add(textOf(parser, text));
          }
          return found;
        });
  }

  /** The text of the value at which a parser stands. */
  private static String textOf(JsonParser parser, String text) throws IOException {
    int start = (int) parser.currentTokenLocation().getCharOffset();
    parser.skipChildren();
    parser.finishToken();
    return text.substring(start, (int) parser.currentLocation().getCharOffset());
  }

  /** A value as a map, a list, a string, a double, a boolean or null. */
  static Object value(String text, String what) {
    return read(text, what, Json::value);
  }

  private static Object value(JsonParser parser) throws IOException {
    switch (parser.currentToken()) {
      case START_OBJECT -> {
        Map<String, Object> members = new LinkedHashMap<>();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          String key = parser.currentName();
          parser.nextToken();
          members.put(key, value(parser));
        }
        return members;
      }
      case START_ARRAY -> {
        List<Object> items = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          items.add(value(parser));
        }
        return items;
      }
      case VALUE_STRING -> {
        return parser.getText();
      }
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> {
        return parser.getDoubleValue();
      }
      case VALUE_TRUE -> {
        return true;
      }
      case VALUE_FALSE -> {
        return false;
      }
      default -> {
        return null;
      }
    }
  }
}
