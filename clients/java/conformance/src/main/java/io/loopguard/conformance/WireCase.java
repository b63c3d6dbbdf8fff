package io.loopguard.conformance;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.loopguard.digest.Digest;
import io.loopguard.v1.Guard;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** A case of wire.jsonl: a message as protobuf JSON and as bytes, which have to mean the same. */
final class WireCase {
  private static final List<String> KEYS = List.of("name", "message", "json", "bytes");
  private static final String PACKAGE = "loopguard.v1.";

  /** The details of a status can only be read where their types are known. */
  private static final JsonFormat.TypeRegistry DETAILS =
      JsonFormat.TypeRegistry.newBuilder()
          .add(BadRequest.getDescriptor())
          .add(ErrorInfo.getDescriptor())
          .add(RetryInfo.getDescriptor())
          .build();

  private WireCase() {}

  static List<String> run(Fields fields) {
    fields.check(KEYS);
    KEYS.forEach(fields::required);
    String kind = fields.text("message");
    Message message = emptyMessage(kind);
    byte[] encoded = fields.hex("bytes");
    String json = fields.raw("json");
    Message.Builder told = message.newBuilderForType();
    try {
      JsonFormat.parser().usingTypeRegistry(DETAILS).merge(json, told);
    } catch (InvalidProtocolBufferException e) {
      throw new BadCaseException("`json` is no " + kind + ": " + e.getMessage(), e);
    }
    try {
      return compare(told.build(), message.getParserForType().parseFrom(encoded), encoded, json);
    } catch (InvalidProtocolBufferException e) {
      return List.of("the bytes are no " + kind + ": " + e.getMessage());
    }
  }

  /** An empty message of the generated class. */
  private static Message emptyMessage(String kind) {
    String name = kind.startsWith(PACKAGE) ? kind.substring(PACKAGE.length()) : "";
    Descriptor found = name.isEmpty() ? null : Guard.getDescriptor().findMessageTypeByName(name);
    if (found == null) {
      throw new BadCaseException("there is no message `" + kind + "`");
    }
    try {
      Class<?> generated = Class.forName("io.loopguard.v1." + name);
      return (Message) generated.getMethod("getDefaultInstance").invoke(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("there is no class for " + kind, e);
    }
  }

  private static List<String> compare(Message told, Message read, byte[] encoded, String json)
      throws InvalidProtocolBufferException {
    List<String> problems = new ArrayList<>();
    if (!told.equals(read)) {
      problems.add("the bytes mean " + read + ", expected " + json);
    }
    if (!told.toByteString().equals(ByteString.copyFrom(encoded))) {
      HexFormat hex = HexFormat.of();
      problems.add(
          "encoded as "
              + hex.formatHex(told.toByteArray())
              + ", expected "
              + hex.formatHex(encoded));
    }
    String shown =
        JsonFormat.printer()
            .usingTypeRegistry(DETAILS)
            .omittingInsignificantWhitespace()
            .print(read);
    // Compared as values.
    if (!digest(shown).equals(digest(json))) {
      problems.add("written as " + shown + ", expected " + json);
    }
    return problems;
  }

  private static Digest digest(String json) {
    return Digest.of(json.getBytes(StandardCharsets.UTF_8));
  }
}
