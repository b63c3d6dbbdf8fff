package io.loopguard.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChannelsTest {
  @Test
  void manyRunsTakeMoreThanOneChannel() throws Exception {
    Channels channels = new Channels("127.0.0.1:1", Clients.settings());
    try {
      List<Channels.Shared> used = new ArrayList<>();
      for (int i = 0; i < 2 * Channels.STREAMS_PER_CHANNEL; i++) {
        used.add(channels.acquire(""));
      }
      // The client's own use counts too.
      assertEquals(3, channels.count(""));
      used.forEach(channels::release);
      assertEquals(1, channels.count(""));
      assertSame(used.get(0), channels.acquire(""));
      channels.release(channels.acquire("127.0.0.1:2"));
      assertEquals(0, channels.count("127.0.0.1:2"));
    } finally {
      channels.close();
    }
  }
}
