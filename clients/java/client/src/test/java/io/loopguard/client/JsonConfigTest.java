package io.loopguard.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonConfigTest {
  @Test
  void aConfigurationIsReadAsItStandsInAFile() {
    var config =
        JsonConfig.parse(
            """
            {"enabled": true, "historySize": 1e2, "warningThreshold": -3, "criticalThreshold": null,
             "globalCircuitBreakerThreshold": 9223372036854775807, "postCompactionGuard": {"windowSize": 0}}
            """);
    assertEquals(100, config.getHistorySize());
    assertEquals(-3, config.getWarningThreshold());
    assertFalse(config.hasCriticalThreshold());
    assertEquals(Long.MAX_VALUE, config.getGlobalCircuitBreakerThreshold());
    assertEquals(0, config.getPostCompactionGuard().getWindowSize());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "{\"histerySize\": 1};histerySize",
        "{\"detectors\": {\"pong\": true}};detectors.pong",
        "{\"detectors\": 1};detectors",
        "{\"enabled\": 1};enabled",
        "{\"historySize\": \"5\"};historySize",
        "{\"historySize\": true};historySize",
        "{\"historySize\": 1.5};historySize",
        "{\"historySize\": 1e-999999999};historySize",
        "{\"historySize\": 1e999999999};historySize",
        "{\"historySize\": 9223372036854775808};historySize",
        "{\"historySize\": 1, \"historySize\": 2};historySize",
        "[];''",
        "{} {};''",
        "{;''",
      })
  void aMistakeIsNamed(String text, String key) {
    assertEquals(
        key, assertThrows(InvalidConfigException.class, () -> JsonConfig.parse(text)).key());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "{\"a\": [{\"action\": \"no\"}], \"action\": \"poll\"};poll",
        "{\"action\": \"a\", \"action\": \"b\"};b",
        "{\"action\": 1};''",
        "[\"action\"];''",
        "{\"action\": \"a\";''",
        "x;''",
      })
  void theActionIsAMemberThatIsText(String json, String action) {
    assertEquals(action, JsonConfig.textOf(json.getBytes(StandardCharsets.UTF_8), "action"));
  }
}
