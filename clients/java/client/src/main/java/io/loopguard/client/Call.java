package io.loopguard.client;

import com.google.protobuf.ByteString;
import io.loopguard.digest.Digest;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;

/**
 * A tool call about to run.
 *
 * @param tool the tool's name
 * @param arguments the arguments as JSON; empty for <code>{}</code>
 * @param argumentsDigest stands in place of the arguments, see {@link #hashed}
 * @param callId names the call within the run; calls with an empty one are numbered {@code c1},
 *     {@code c2}, …
 * @param action tells polls and sends apart where the arguments come as a digest
 */
public record Call(
    String tool,
    ByteString arguments,
    Optional<Digest> argumentsDigest,
    String callId,
    String action) {
  /** Refuses null. */
  public Call {
    Objects.requireNonNull(tool, "tool");
    Objects.requireNonNull(arguments, "arguments");
    Objects.requireNonNull(argumentsDigest, "argumentsDigest");
    Objects.requireNonNull(callId, "callId");
    Objects.requireNonNull(action, "action");
  }

  /**
   * Returns a call.
   *
   * @param tool the tool's name
   * @param json the arguments
   * @return the call
   */
  public static Call of(String tool, String json) {
    return of(tool, json.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Returns a call.
   *
   * @param tool the tool's name
   * @param json the arguments, in UTF-8
   * @return the call
   */
  public static Call of(String tool, byte[] json) {
    return new Call(tool, ByteString.copyFrom(json), Optional.empty(), "", "");
  }

  /**
   * Returns a call of whose arguments only the digest is told.
   *
   * @param tool the tool's name
   * @param digest their digest, as {@link Digest#ofArguments} computes it
   * @return the call
   */
  public static Call of(String tool, Digest digest) {
    return new Call(tool, ByteString.EMPTY, Optional.of(digest), "", "");
  }

  /**
   * Returns the call with another id.
   *
   * @param id names the call within the run
   * @return the call
   */
  public Call withCallId(String id) {
    return new Call(tool, arguments, argumentsDigest, id, action);
  }

  /**
   * Returns the call with another action.
   *
   * @param name tells polls and sends apart where the arguments come as a digest
   * @return the call
   */
  public Call withAction(String name) {
    return new Call(tool, arguments, argumentsDigest, callId, name);
  }

  /**
   * Returns the call with a digest in place of its arguments.
   *
   * @return the call
   */
  public Call hashed() {
    if (argumentsDigest.isPresent()) {
      return this;
    }
    byte[] json = arguments.toByteArray();
    String told = action.isEmpty() ? JsonConfig.textOf(json, "action") : action;
    return new Call(
        tool, ByteString.EMPTY, Optional.of(Digest.ofArguments(tool, json)), callId, told);
  }
}
