package io.loopguard.digest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DigestTest {
  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String canonical(String text) {
    return new String(CanonicalJson.of(utf8(text)).toBytes(), StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "{ \"b\" : 1.0, \"a\" : [ true , null ] };{\"a\":[true,null],\"b\":1};",
        "-0;0;",
        "12345678901234567890;12345678901234567890;BIGINT",
        "9007199254740991;9007199254740991;",
        "-9007199254740992;-9007199254740992;BIGINT",
        "1e3;1000;",
        "1e21;1e+21;",
        "1e-7;1e-7;",
        "0.000001;0.000001;",
        "4.9e-324;5e-324;",
        "2e-323;2e-323;",
        "5.6843418860808015e-14;5.684341886080802e-14;",
        "1E+400;1e400;OVERFLOW",
        "1e-400;0;",
        "{\"a\":1,\"\\u0061\":2};{\"a\":2};DUPLICATE_KEY",
        "\"\\uD83D\\uDE00\\uDE00\";\"\ud83d\ude00\\ude00\";SURROGATE",
        "\"\\/\\u001F\\u000a\";\"/\\u001f\\n\";",
        "{\"\\ue000\":1,\"\\ud83d\\ude00\":2};{\"\ud83d\ude00\":2,\"\ue000\":1};",
      })
  void theCanonicalForm(String text, String form, String flag) {
    assertEquals(form, canonical(text));
    Set<JsonFlag> flags = flag == null ? Set.of() : Set.of(JsonFlag.valueOf(flag));
    assertEquals(flags, CanonicalJson.of(utf8(text)).flags());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "01",
        "1 2",
        "[1,]",
        "{\"a\" 1}",
        "NaN",
        "\ufeff1",
        "\"\t\"",
        "\"\\x\"",
        "+1",
        "1."
      })
  void whatIsNoJsonIsOpaque(String text) {
    assertEquals(Set.of(JsonFlag.OPAQUE), CanonicalJson.of(utf8(text)).flags());
    assertEquals(text, canonical(text));
  }

  @Test
  void badUtf8IsOpaque() {
    byte[] surrogate = {'"', (byte) 0xed, (byte) 0xa0, (byte) 0x80, '"'};
    assertEquals(Set.of(JsonFlag.OPAQUE), CanonicalJson.of(surrogate).flags());
    assertArrayEquals(surrogate, CanonicalJson.of(surrogate).toBytes());
  }

  @Test
  void depthIsLimited() {
    assertEquals("[".repeat(256) + "]".repeat(256), canonical("[".repeat(256) + "]".repeat(256)));
    assertEquals(Set.of(), CanonicalJson.of(utf8("[".repeat(256) + "]".repeat(256))).flags());
    byte[] deeper = utf8("[".repeat(257) + "]".repeat(257));
    assertEquals(Set.of(JsonFlag.OPAQUE), CanonicalJson.of(deeper).flags());
  }

  @Test
  void theDigestIsXxh3() {
    assertEquals("df3ce784d856334d65cd25028f98f158", Digest.of(utf8("1.0")).toString());
    assertEquals(Digest.of(utf8("1")), Digest.fromBytes(Digest.of(utf8("1e0")).toBytes()));
    assertThrows(IllegalArgumentException.class, () -> Digest.fromBytes(new byte[15]));
  }

  @Test
  void titlesOfExecAreLeftOut() {
    byte[] titled = utf8("{\"title\": 99999999999999999999, \"command\": {\"title\": 1}}");
    Digest wanted = Digest.of(utf8("{\"command\":{\"title\":1}}"));
    for (String tool : new String[] {"exec", " Bash\ufeff\u00a0", "EXEC"}) {
      assertEquals(wanted, Digest.ofArguments(tool, titled));
    }
    assertNotEquals(wanted, Digest.ofArguments("read", titled));
    assertEquals(Digest.of(utf8("{}")), Digest.ofArguments("exec", new byte[0]));
  }

  @Test
  void doublesReadBackAsTheyWere() {
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      double value = Double.longBitsToDouble(random.nextLong());
      if (Double.isNaN(value) || Double.isInfinite(value)) {
        continue;
      }
      String form = canonical(String.format("%.17e", value).replace("+", ""));
      assertEquals(value, Double.parseDouble(form));
    }
  }
}
