package io.loopguard.conformance;

import io.loopguard.digest.CanonicalJson;
import io.loopguard.digest.JsonFlag;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A case of canon.jsonl: a JSON text, and its canonical form, digest and flags. */
final class CanonCase {
  private static final List<String> KEYS =
      List.of("name", "input", "mask", "canonical", "canonicalBase64", "digest", "flags");
  private static final Set<String> FLAGS =
      Stream.of(JsonFlag.values()).map(JsonFlag::name).collect(Collectors.toSet());

  private CanonCase() {}

  static List<String> run(Fields fields) {
    fields.check(KEYS);
    if (!fields.names("mask").isEmpty()) {
      throw new BadCaseException("a client's digest masks nothing, and this case has `mask`");
    }
    byte[] input = fields.base64("input");
    byte[] wanted = wantedForm(fields);
    String digest = fields.text("digest").toLowerCase(Locale.ROOT);
    if (digest.isEmpty()) {
      throw new BadCaseException("a canon vector needs the string `digest`");
    }
    Set<String> flags = new TreeSet<>(fields.names("flags"));
    for (String flag : flags) {
      if (!FLAGS.contains(flag)) {
        throw new BadCaseException("there is no flag `" + flag + "`");
      }
    }
    return compare(CanonicalJson.of(input), wanted, digest, flags);
  }

  private static byte[] wantedForm(Fields fields) {
    if (fields.has("canonical") == fields.has("canonicalBase64")) {
      throw new BadCaseException("a canon vector needs `canonical` or `canonicalBase64`");
    }
    return fields.has("canonical")
        ? fields.text("canonical").getBytes(StandardCharsets.UTF_8)
        : fields.base64("canonicalBase64");
  }

  private static List<String> compare(
      CanonicalJson got, byte[] wanted, String digest, Set<String> flags) {
    List<String> problems = new ArrayList<>();
    if (!Arrays.equals(got.toBytes(), wanted)) {
      problems.add("canonical: expected " + shown(wanted) + ", got " + shown(got.toBytes()));
    }
    if (!got.digest().toString().equals(digest)) {
      problems.add("digest: expected " + digest + ", got " + got.digest());
    }
    Set<String> found = got.flags().stream().map(JsonFlag::name).collect(Collectors.toSet());
    if (!found.equals(flags)) {
      problems.add("flags: expected " + flags + ", got " + found);
    }
    return problems;
  }

  private static String shown(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
