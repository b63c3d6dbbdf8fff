package io.loopguard.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MainTest {
  private static final String CANON =
      "{\"name\": \"n\", \"input\": \"MS4w\", \"canonical\": \"1\","
          + " \"digest\": \"df3ce784d856334d65cd25028f98f158\", \"flags\": []}";
  private static final String WIRE =
      "{\"name\": \"n\", \"message\": \"loopguard.v1.GuardRequest\", \"json\": {\"seq\": \"1\"},"
          + " \"bytes\": \"0801\"}";

  @TempDir private Path folder;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private int run(String... paths) {
    return runAt("", paths);
  }

  private int runAt(String address, String... paths) {
    return Main.exitCode(
        new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(err, true, StandardCharsets.UTF_8),
        address,
        paths);
  }

  private int runText(String text) throws IOException {
    return run(Files.writeString(folder.resolve("cases.jsonl"), text).toString());
  }

  private String said() {
    return out.toString(StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "127.0.0.1:1", "::bad::"})
  void aServerThatIsAwayIsAnError(String address) throws IOException {
    Path path = folder.resolve("cases.jsonl");
    Files.writeString(path, "{\"name\": \"n\", \"steps\": [{\"close\": {}}], \"expect\": [null]}");
    assertEquals(2, runAt(address, path.toString()));
    assertEquals("", said());
    assertTrue(err.toString(StandardCharsets.UTF_8).matches("conformance: [^\n]*\\R"));
  }

  @Test
  void theProjectsVectorsPass() {
    int code = run("../../../conformance/canon.jsonl", "../../../conformance/wire.jsonl");
    assertEquals("", err.toString(StandardCharsets.UTF_8));
    assertEquals(0, code, said());
    assertTrue(said().matches("[1-9]\\d\\d+ passed, 0 failed\\R"), said());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {"\"1\";\"2\"", "df3c;df3d", "[];[\"BIGINT\"]"})
  void wrongCanonAnswersFail(String right, String wrong) throws IOException {
    String text = "\ufeff" + CANON + "\n\n" + CANON.replace(right, wrong) + "\r\n";
    assertEquals(1, runText(text));
    assertTrue(said().endsWith("1 passed, 1 failed" + System.lineSeparator()), said());
  }

  @ParameterizedTest
  @ValueSource(strings = {"0802", "08", "08010a", "880100"})
  void wrongWireAnswersFail(String bytes) throws IOException {
    assertEquals(1, runText(WIRE.replace("0801", bytes)));
    assertTrue(said().startsWith("FAIL n: "), said());
  }

  @Test
  void whatIsNotUnderstoodIsRefused() throws IOException {
    Map<String, String> cases = new LinkedHashMap<>();
    cases.put("no cases", " \n\n");
    cases.put("no known kind", "{\"name\": \"n\", \"json\": {}}");
    cases.put("must be an object", "[]");
    cases.put("no valid JSON", "{\"name\": \"n\", \"input\": }");
    cases.put("needs `name`", "{\"input\": \"MS4w\"}");
    cases.put("unknown key `seed`", CANON.replace("\"flags\"", "\"seed\": 1, \"flags\""));
    cases.put("stands twice", CANON.replace("\"flags\"", "\"name\": \"m\", \"flags\""));
    cases.put("masks nothing", CANON.replace("\"flags\"", "\"mask\": [\"pid\"], \"flags\""));
    cases.put("there is no flag", CANON.replace("[]", "[\"ODD\"]"));
    cases.put("must be base64", CANON.replace("MS4w", "MS4"));
    cases.put("there is no message", WIRE.replace("GuardRequest", "Nothing"));
    cases.put("`json` is no", WIRE.replace("\"seq\"", "\"sequence\""));
    cases.put("hexadecimal", WIRE.replace("0801", "080"));
    cases.put("one entry for each", detect("{\"close\": {}}", ""));
    cases.put("either steps or", detect("", ""));
    cases.put("exactly one of", detect("{\"cloze\": {}}", "null"));
    cases.put("not known", detect("{\"outcome\": {}}", "{\"act\": \"ALLOW\"}"));
    cases.put("is repeated 3 times", detect("{\"close\": {}, \"repeat\": 3}", "[[null, 2]]"));
    cases.put("has 2 verdicts", detect("{\"calls\": [{\"tool\": \"a\"}]}", "[null, null]"));
    cases.put("`tool` is missing", detect("{\"calls\": [{}]}", "null"));
    cases.put("`status` is", detect("{\"outcome\": {\"status\": \"FINE\"}}", "null"));
    cases.put("set LOOPGUARD_ADDRESS", detect("{\"close\": {}}", "null"));
    for (Map.Entry<String, String> entry : cases.entrySet()) {
      err.reset();
      assertEquals(2, runText(entry.getValue()), entry.getKey());
      String told = err.toString(StandardCharsets.UTF_8);
      assertTrue(told.contains(entry.getKey()), entry.getKey() + ": " + told);
    }
    assertEquals(2, run());
    assertEquals(2, run("nowhere.jsonl"));
  }

  private static String detect(String step, String expected) {
    return "{\"name\": \"n\", \"steps\": [" + step + "], \"expect\": [" + expected + "]}";
  }

  @Test
  void casesThatNeedAServerOfTheirOwnAreLeftOut() throws IOException {
    String records = "{\"fingerprint\": [{\"tool\": \"x\"}]}";
    String text = detect(records, "{\"equal\": {\"args\": [\"a\"]}}");
    assertEquals(0, runText(text + "\n" + CANON));
    assertTrue(said().startsWith("1 left out"), said());
  }

  @Test
  void sugarIsSpelledOut() {
    assertEquals(
        "{\"n\": 42, \"$#1\": 2, \"s\": \"a2 b002 f00d\"}",
        Sugar.spellOut("{\"n\": \"$#40\", \"$#1\": 2, \"s\": \"a$i b$03i $hex16\"}", 2, "f00d"));
    assertEquals("[\"\\\"$#1\"]", Sugar.spellOut("[\"\\\"$#1\"]", 2, ""));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "{\"action\": \"WARN\", \"note\": null};true",
        "{\"action\": [\"ALLOW\", \"WARN\"]};true",
        "{\"action\": \"ALLOW\"};false",
        "{\"note\": \"x\"};false",
        "{\"callId\": null};false",
        "{\"flags\": [\"BIGINT\", \"OPAQUE\"]};true",
        "{\"flags\": [\"BIGINT\"]};false",
        "{\"finding\": {\"count\": 3, \"pairedTool\": null}};true",
        "{\"finding\": {\"count\": 4}};false",
        "[{\"action\": \"WARN\"}];true",
        "[null];true",
        "[null, null];false",
        "{\"error\": {\"reason\": \"UNKNOWN_CALL\"}};false",
      })
  void anAnswerHasWhatIsExpected(String expected, boolean isMatch) {
    Map<String, Object> verdict =
        Map.of(
            "callId",
            "c1",
            "action",
            "WARN",
            "flags",
            List.of("OPAQUE", "BIGINT"),
            "finding",
            Map.of("count", 3.0));
    Object wanted = Expected.parse(expected, 1, false).get(0);
    assertEquals(isMatch, Expected.matches(wanted, Collections.singletonList(verdict)));
    assertFalse(Expected.matches(wanted, List.of()));
  }
}
