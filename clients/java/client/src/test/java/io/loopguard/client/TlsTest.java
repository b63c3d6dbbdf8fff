package io.loopguard.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TlsTest {
  private static final String PASSWORD = "of no secret";

  @TempDir private Path folder;

  /** A key of this machine that nobody has signed but itself. */
  private KeyStore selfSigned() throws Exception {
    Path file = folder.resolve("keys.p12");
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-keyalg",
            "EC",
            "-dname",
            "CN=guard",
            "-ext",
            "san=ip:127.0.0.1",
            "-storetype",
            "PKCS12",
            "-storepass",
            PASSWORD,
            "-keystore",
            file.toString());
    ProcessBuilder keytool = new ProcessBuilder(command).redirectErrorStream(true);
    Process made = keytool.redirectOutput(folder.resolve("said").toFile()).start();
    assertEquals(0, made.waitFor());
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    return keys;
  }

  private static KeyManagerFactory managers(KeyStore keys) throws Exception {
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(keys, PASSWORD.toCharArray());
    return factory;
  }

  private static TrustManagerFactory trust(KeyStore keys) throws Exception {
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    String alias = keys.aliases().nextElement();
    trusted.setCertificateEntry(alias, keys.getCertificate(alias));
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(trusted);
    return factory;
  }

  @Test
  void aTokenTravelsOverTls() throws Exception {
    KeyStore keys = selfSigned();
    var served =
        TlsServerCredentials.newBuilder().keyManager(managers(keys).getKeyManagers()).build();
    var trusted =
        TlsChannelCredentials.newBuilder().trustManager(trust(keys).getTrustManagers()).build();
    try (FakeGuard guard = new FakeGuard(0, served)) {
      GuardClient.Builder builder = Clients.builder(guard).token("secret");
      try (GuardClient client = builder.credentials(trusted).build()) {
        assertTrue(client.openRun("r").opened().isPresent());
      }
      assertEquals(List.of("Bearer secret"), guard.headers("authorization"));
      // Who does not know the key does not trust the guard.
      try (GuardClient client = builder.tls().build()) {
        assertTrue(client.openRun("r").opened().isEmpty());
      }
    }
  }
}
