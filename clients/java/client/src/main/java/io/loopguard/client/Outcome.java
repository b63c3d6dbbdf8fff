package io.loopguard.client;

import com.google.protobuf.ByteString;
import io.loopguard.digest.Digest;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;

/**
 * How a call ended.
 *
 * @param callId names the call; empty for the oldest admitted call without outcome
 * @param status is how it ended
 * @param result is what the tool returned, as JSON; empty for nothing
 * @param resultDigest stands in place of the result, see {@link #hashed}; compared only with other
 *     such digests
 * @param error is the error, as JSON (a message is a JSON string); empty for none
 * @param semantic is a private outcome, as JSON, that stands for the result in comparisons; empty
 *     for none
 */
public record Outcome(
    String callId,
    Status status,
    ByteString result,
    Optional<Digest> resultDigest,
    ByteString error,
    ByteString semantic) {
  /** Refuses null. */
  public Outcome {
    Objects.requireNonNull(callId, "callId");
    Objects.requireNonNull(status, "status");
    Objects.requireNonNull(result, "result");
    Objects.requireNonNull(resultDigest, "resultDigest");
    Objects.requireNonNull(error, "error");
    Objects.requireNonNull(semantic, "semantic");
  }

  /**
   * Returns the outcome of a tool that returned.
   *
   * @param json what it returned
   * @return the outcome
   */
  public static Outcome ok(String json) {
    return of(Status.OK).withResult(json);
  }

  /**
   * Returns the outcome of a tool that failed.
   *
   * @param json the error; a message is a JSON string
   * @return the outcome
   */
  public static Outcome error(String json) {
    return of(Status.ERROR).withError(json.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Returns an outcome of which only the status is known.
   *
   * @param status is how the call ended
   * @return the outcome
   */
  public static Outcome of(Status status) {
    return new Outcome(
        "", status, ByteString.EMPTY, Optional.empty(), ByteString.EMPTY, ByteString.EMPTY);
  }

  /**
   * Returns the outcome as one of another call.
   *
   * @param id names the call
   * @return the outcome
   */
  public Outcome withCallId(String id) {
    return new Outcome(id, status, result, resultDigest, error, semantic);
  }

  /**
   * Returns the outcome with another result.
   *
   * @param json what the tool returned
   * @return the outcome
   */
  public Outcome withResult(String json) {
    return withResult(json.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Returns the outcome with another result.
   *
   * @param json what the tool returned, in UTF-8
   * @return the outcome
   */
  public Outcome withResult(byte[] json) {
    return new Outcome(
        callId, status, ByteString.copyFrom(json), Optional.empty(), error, semantic);
  }

  /**
   * Returns the outcome with a digest in place of its result.
   *
   * @param digest the result's digest
   * @return the outcome
   */
  public Outcome withResult(Digest digest) {
    return new Outcome(callId, status, ByteString.EMPTY, Optional.of(digest), error, semantic);
  }

  /**
   * Returns the outcome with another error.
   *
   * @param json the error, in UTF-8
   * @return the outcome
   */
  public Outcome withError(byte[] json) {
    return new Outcome(callId, status, result, resultDigest, ByteString.copyFrom(json), semantic);
  }

  /**
   * Returns the outcome with another private outcome.
   *
   * @param json what stands for the result in comparisons, in UTF-8
   * @return the outcome
   */
  public Outcome withSemantic(byte[] json) {
    return new Outcome(callId, status, result, resultDigest, error, ByteString.copyFrom(json));
  }

  /**
   * Returns the outcome with a digest in place of its result.
   *
   * @return the outcome
   */
  public Outcome hashed() {
    return result.isEmpty() ? this : withResult(Digest.of(result.toByteArray()));
  }
}
