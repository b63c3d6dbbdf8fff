package io.loopguard.conformance;

import com.google.protobuf.ByteString;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.loopguard.digest.CanonicalJson;
import io.loopguard.digest.JsonFlag;
import io.loopguard.v1.FingerprintRequest;
import io.loopguard.v1.FingerprintResponse;
import io.loopguard.v1.LoopGuardServiceGrpc;
import java.util.Base64;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Compares digest, flags and canonical form of random documents with those of the server at {@code
 * LOOPGUARD_ADDRESS}. Exits with 1 at the first difference.
 */
public final class Differential {
  private static final int DOCUMENTS = 5000;
  private static final String PREFIX = "JSON_FLAG_";

  private Differential() {}

  /**
   * Runs the comparison.
   *
   * @param args a seed, to see the same documents again
   */
  public static void main(String[] args) {
    long seed = args.length > 0 ? Long.parseLong(args[0]) : System.nanoTime();
    String address = System.getenv("LOOPGUARD_ADDRESS");
    if (address == null) {
      System.err.println("differential: set LOOPGUARD_ADDRESS");
      System.exit(2);
    }
    ManagedChannel channel =
        Grpc.newChannelBuilder(address, InsecureChannelCredentials.create()).build();
    try {
      var guard = LoopGuardServiceGrpc.newBlockingStub(channel).withWaitForReady();
      OddDocuments documents = new OddDocuments(seed);
      for (int i = 0; i < DOCUMENTS; i++) {
        compare(guard, documents.get(), seed);
      }
    } finally {
      channel.shutdownNow();
    }
    System.out.println(DOCUMENTS + " random documents are equal");
  }

  private static void compare(
      LoopGuardServiceGrpc.LoopGuardServiceBlockingStub guard, byte[] document, long seed) {
    FingerprintRequest.Builder request = FingerprintRequest.newBuilder().setIncludeCanonical(true);
    FingerprintResponse wanted =
        guard.fingerprint(request.setJson(ByteString.copyFrom(document)).build());
    CanonicalJson got = CanonicalJson.of(document);
    Set<String> flags =
        wanted.getFlagsList().stream()
            .map(flag -> flag.name().substring(PREFIX.length()))
            .collect(Collectors.toSet());
    boolean isEqual =
        wanted.getCanonical().equals(ByteString.copyFrom(got.toBytes()))
            && wanted.getDigest().equals(ByteString.copyFrom(got.digest().toBytes()))
            && got.flags().stream().map(JsonFlag::name).collect(Collectors.toSet()).equals(flags);
    if (!isEqual) {
      String shown = Base64.getEncoder().encodeToString(document);
      System.err.println("differential: seed " + seed + ": another answer for base64 " + shown);
      System.exit(1);
    }
  }
}
