package io.loopguard.client;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.loopguard.v1.LoopDetectionConfig;
import java.io.IOException;
import java.math.BigDecimal;

/** Reads what the client itself has to know of JSON. */
final class JsonConfig {
  private static final JsonFactory JSON = new JsonFactory();

  private JsonConfig() {}

  /** Reads a configuration as it stands in a file; 10.0 is 10, null is absent. */
  static LoopDetectionConfig parse(String text) {
    LoopDetectionConfig.Builder config = LoopDetectionConfig.newBuilder();
    try (JsonParser parser = JSON.createParser(text)) {
      parser.nextToken();
      readBlock(parser, config, "");
      if (parser.nextToken() != null) {
        throw new InvalidConfigException("", "more than one value");
      }
    } catch (IOException e) {
      throw new InvalidConfigException("", String.valueOf(e.getMessage()));
    }
    return config.build();
  }

  private static void readBlock(JsonParser parser, Message.Builder block, String where)
      throws IOException {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw new InvalidConfigException(where, "`" + where + "` is no block");
    }
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String key = parser.currentName();
      String path = where.isEmpty() ? key : where + "." + key;
      FieldDescriptor field = fieldOf(block, key);
      if (field == null) {
        throw new InvalidConfigException(path, "unknown key `" + path + "`");
      }
      if (block.hasField(field)) {
        throw new InvalidConfigException(path, "key `" + path + "` stands twice");
      }
      if (parser.nextToken() == JsonToken.VALUE_NULL) {
        continue;
      }
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        Message.Builder inner = block.newBuilderForField(field);
        readBlock(parser, inner, path);
        block.setField(field, inner.build());
      } else {
        block.setField(field, scalar(parser, field, path));
      }
    }
  }

  private static FieldDescriptor fieldOf(Message.Builder block, String key) {
    return block.getDescriptorForType().getFields().stream()
        .filter(field -> field.getJsonName().equals(key))
        .findFirst()
        .orElse(null);
  }

  private static Object scalar(JsonParser parser, FieldDescriptor field, String path)
      throws IOException {
    if (field.getJavaType() == FieldDescriptor.JavaType.BOOLEAN) {
      return switch (parser.currentToken()) {
        case VALUE_TRUE -> true;
        case VALUE_FALSE -> false;
        default -> throw wrong(parser, path, "not true or false");
      };
    }
    if (!parser.currentToken().isNumeric()) {
      throw wrong(parser, path, "not an integer");
    }
    return integer(parser, path);
  }

  private static long integer(JsonParser parser, String path) throws IOException {
    // A large exponent would make a very long number of it.
    double rough = parser.getDoubleValue();
    if (Math.abs(rough) > 0x1p63) {
      throw wrong(parser, path, "beyond 64 bits");
    }
    BigDecimal exact = parser.getDecimalValue();
    if (exact.signum() != 0 && (Math.abs(rough) < 1 || exact.stripTrailingZeros().scale() > 0)) {
      throw wrong(parser, path, "not an integer");
    }
    try {
      return exact.signum() == 0 ? 0 : exact.longValueExact();
    } catch (ArithmeticException e) {
      throw wrong(parser, path, "beyond 64 bits");
    }
  }

  private static InvalidConfigException wrong(JsonParser parser, String path, String problem)
      throws IOException {
    return new InvalidConfigException(
        path, "`" + path + "` is " + parser.getText() + ", " + problem);
  }

  /**
   * Returns a member of an object that is a string; empty for any other, and for what is no JSON.
   */
  static String textOf(byte[] json, String key) {
    String found = "";
    try (JsonParser parser = JSON.createParser(json)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return "";
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        boolean isWanted = parser.currentName().equals(key);
        JsonToken value = parser.nextToken();
        if (isWanted) {
          found = value == JsonToken.VALUE_STRING ? parser.getText() : "";
        }
        parser.skipChildren();
      }
    } catch (IOException e) {
      return "";
    }
    return found;
  }
}
