package io.loopguard.client;

import io.loopguard.v1.GuardRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * The frames kept for resending, with consecutive numbers, and how far they were sent and answered.
 */
final class Outbox {
  private final int mostFrames;
  private final long mostBytes;
  private final List<Entry> entries = new ArrayList<>();
  private long first = 1;
  private long bytes;

  /**
   * The next frame to send on this stream, the last one answered on it, the last one answered on
   * any.
   */
  private long nextSend = 1;

  private long confirmed;
  private long answered;

  Outbox(int mostFrames, long mostBytes) {
    this.mostFrames = mostFrames;
    this.mostBytes = mostBytes;
  }

  /** The number of the oldest frame, or of the next one where there is none. */
  long first() {
    return first;
  }

  /** The number of the newest frame. */
  long last() {
    return first + entries.size() - 1;
  }

  /** Whether no frame was given up. */
  boolean isWhole() {
    return first == 1;
  }

  List<Entry> entries() {
    return List.copyOf(entries);
  }

  /** Those of which no answer was ever seen. */
  List<Entry> unanswered() {
    int from = (int) Math.max(0, Math.min(answered + 1 - first, entries.size()));
    return List.copyOf(entries.subList(from, entries.size()));
  }

  /** The frame of that number, null if it is not kept. */
  Entry at(long seq) {
    return seq < first || seq > last() ? null : entries.get((int) (seq - first));
  }

  /** Gives a frame the next number, and forgets the oldest ones where there are too many. */
  Entry put(Entry entry, boolean isOpened) {
    entries.add(entry);
    bytes += entry.bytes();
    while (entries.size() > mostFrames || bytes > mostBytes) {
      // A frame that is awaited, or is still to be sent to a guard that is there, is not given up.
      if (entries.isEmpty() || entries.get(0).isAwaited() || (isOpened && first >= nextSend)) {
        break;
      }
      forgetTo(first);
    }
    return entry;
  }

  void replace(Entry entry, GuardRequest.Builder other) {
    bytes -= entry.bytes();
    entry.replace(other);
    bytes += entry.bytes();
  }

  void clear() {
    entries.clear();
    bytes = 0;
  }

  /** Numbers frames anew; all of them are to be sent. */
  void renumber(long from, long lastAnswered, List<Entry> kept) {
    clear();
    for (Entry entry : kept) {
      entries.add(entry);
      bytes += entry.bytes();
    }
    first = from;
    nextSend = from;
    answered = lastAnswered;
    confirmed = from - 1;
  }

  /** Whether a frame was not sent on this stream. */
  boolean isUnsent(Entry entry) {
    int from = (int) Math.max(0, Math.min(nextSend - first, entries.size()));
    return entries.subList(from, entries.size()).contains(entry);
  }

  /** Takes the next frame to send, null if there is none, or so many are under way already. */
  GuardRequest take(long mostInFlight) {
    if (nextSend > last() || nextSend > confirmed + mostInFlight) {
      return null;
    }
    long seq = nextSend++;
    return at(seq).request().toBuilder().setSeq(seq).build();
  }

  boolean isInFlight() {
    return nextSend - 1 > confirmed;
  }

  /** The oldest frame under way. */
  long firstInFlight() {
    return confirmed + 1;
  }

  /** Notes an answer; returns whether it is news. */
  boolean isNews(long seq) {
    confirmed = Math.max(confirmed, seq);
    if (seq <= answered) {
      return false;
    }
    answered = seq;
    return true;
  }

  /** Goes back to a frame that the server waits for; false if it is not kept. */
  boolean sendFrom(long seq) {
    if (seq < first) {
      return false;
    }
    nextSend = Math.min(seq, last() + 1);
    return true;
  }

  /**
   * Goes on after the last frame that the server has seen; false: it misses some that are not kept.
   */
  boolean resume(long lastSeen) {
    if (first > lastSeen + 1) {
      return false;
    }
    nextSend = Math.max(first, Math.min(answered, lastSeen) + 1);
    confirmed = nextSend - 1;
    return true;
  }

  /**
   * A frame whose answer is still to come is asked for again after a lost stream, durable or not.
   */
  void forgetDurable(long durable) {
    forgetTo(Math.min(durable, Math.min(answered, nextSend - 1)));
  }

  private void forgetTo(long seq) {
    int count = (int) Math.max(0, Math.min(seq - first + 1, entries.size()));
    List<Entry> oldest = entries.subList(0, count);
    oldest.forEach(entry -> bytes -= entry.bytes());
    oldest.clear();
    first += count;
  }
}
