// Keys that say what their value is: a duration, a process id, an id made anew for each request.
#pragma once

#include "mask_name.hpp"
#include "mask_rules.hpp"

namespace loopguard {

constexpr size_t kShortestBinary = 64;

// No kind: nothing of such a value is masked.
constexpr uint32_t kCursorKey = 1u << 31;

// The kinds that the value under a key may be; `key` is canonical text without quotes.
inline uint32_t key_kinds(const uint8_t* key, size_t size) {
    if (size < 2 || size > sizeof PlainName::text) return 0;
    const uint8_t last = key[size - 1] | 0x20;
    // Letters that such keys end with; most others need no closer look.
    constexpr uint32_t kLast = letter_set("abdefghnprstwy");
    if (!is_letter(last) || (kLast >> (last - 'a') & 1) == 0) return 0;
    const PlainName plain(key, size);
    if (plain.is_cursor()) return kCursorKey;
    switch (last) {
        case 'd':
            if (plain.is({"pid", "ppid", "processid"})) return kProcessId;
            if (plain.is({"elapsed"})) return kDuration;
            break;
        case 's': {
            if (plain.is({"ts"})) return kTimestamp | kEpoch;
            if (plain.is({"attempts", "retries"})) return kAttempt;
            const bool unit = size > 2 && (key[size - 2] == 'M' || ((key[size - 2] == 'm') && (key[size - 3] == '_' || key[size - 3] == '-')));
            if (unit && key[size - 1] == 's' && !plain.sets_a_limit()) return plain.is({"timestampms", "epochms"}) ? kEpoch : kDuration;
            break;
        }
        case 't':
            if (plain.is({"attempt", "retrycount"})) return kAttempt;
            if (plain.is({"startedat", "finishedat", "endedat", "generatedat", "fetchedat", "retrievedat"})) return kTimestamp | kEpoch;
            break;
        case 'y':
            if (plain.is({"retry"})) return kAttempt;
            break;
        case 'r':
            if (plain.is({"attemptnumber"})) return kAttempt;
            break;
        case 'p':
            if (plain.ends_with("timestamp")) return kTimestamp | kEpoch;
            break;
        case 'h':
            if (plain.is({"epoch"})) return kEpoch;
            break;
        case 'w':
            if (plain.is({"now"})) return kTimestamp | kEpoch;
            break;
        case 'f':
            if (plain.is({"asof"})) return kTimestamp | kEpoch;
            break;
        case 'e':
            if (plain.is({"servertime", "currenttime"})) return kTimestamp | kEpoch;
            if (plain.is({"unixtime"})) return kEpoch;
            break;
        case 'a':
            if (plain.is({"data"})) return kBinary;
            break;
        case 'b':
            if (plain.is({"blob"})) return kBinary;
            break;
        default: break;
    }
    if (plain.ends_with("duration") || plain.starts_with("elapsed") || plain.starts_with("latency") || plain.ends_with("latency")) {
        return kDuration;
    }
    return names_technical_id(key, size) ? uint32_t{kTechnicalId} : 0;
}

// A letter's number in either case, 27 for what may stand between letters, 0 for anything else.
constexpr std::array<uint8_t, 256> make_letter_numbers() {
    std::array<uint8_t, 256> table{};
    for (int c = 'a'; c <= 'z'; ++c) table[c] = table[c - 32] = static_cast<uint8_t>(c - 'a' + 1);
    table['_'] = table['-'] = 27;
    return table;
}

inline constexpr std::array<uint8_t, 256> kLetterNumber = make_letter_numbers();

using LetterPairs = std::array<bool, 1024>;

constexpr LetterPairs make_pairs(std::string_view pairs) {
    LetterPairs table{};
    const auto add = [&table](size_t first, size_t second) { table[first * 32 + second] = true; };
    for (size_t at = 0; at + 1 < pairs.size(); at += 3) {
        add(kLetterNumber[static_cast<uint8_t>(pairs[at])], kLetterNumber[static_cast<uint8_t>(pairs[at + 1])]);
    }
    for (size_t letter = 1; letter <= 27; ++letter) {
        add(letter, 27);
        add(27, letter);
    }
    return table;
}

// How the keys end that `key_kinds` knows: pid elapsed ts retries _ms attempt retryCount startedAt retry attemptNumber timestamp epoch
// now asOf time data blob duration latency nonce etag cursor token before offset.
inline constexpr LetterPairs kKeyEndings = make_pairs("id ed ts es ms pt nt at ry er mp ch ow of me ta ob on cy ce ag or en re et");
// And how those begin that may end in another way: elapsed latency.
inline constexpr LetterPairs kKeyBeginnings = make_pairs("el la");

inline bool is_pair(const LetterPairs& pairs, const uint8_t* text) { return pairs[kLetterNumber[text[0]] * 32u + kLetterNumber[text[1]]]; }

// The same from the cache, for a key that begins or ends as one that says something.
[[gnu::noinline]] inline uint32_t cached_key_kinds(const uint8_t* key, size_t size, KeyCache& cache) {
    if (size > 16) return key_kinds(key, size);
    uint64_t head = 0;
    uint64_t tail = 0;
    if (size >= 8) {
        std::memcpy(&head, key, 8);
        std::memcpy(&tail, key + size - 8, 8);
    } else {
        // A copy of no fixed size would be a call.
        for (size_t i = size; i-- > 0;) head = head << 8 | key[i];
    }
    KeyCache::Entry& entry = cache.slot(head, tail, size);
    if (entry.size != size || entry.head != head || entry.tail != tail) {
        entry = {head, tail, static_cast<uint32_t>(size), key_kinds(key, size)};
    }
    return entry.kinds;
}

// And for any key: most don't even get there.
inline uint32_t key_kinds(const uint8_t* key, size_t size, KeyCache& cache) {
    if (size < 2 || !(is_pair(kKeyEndings, key + size - 2) || is_pair(kKeyBeginnings, key))) return 0;
    return cached_key_kinds(key, size, cache);
}

// Base64 as parts of a message carry it, with or without a data: address before it.
inline bool is_base64(const uint8_t* text, size_t size) {
    const std::string_view view(reinterpret_cast<const char*>(text), size);
    size_t start = 0;
    if (view.substr(0, 5) == "data:") {
        const size_t comma = view.substr(0, 128).find(";base64,");
        if (comma == view.npos) return false;
        start = comma + 8;
    } else if (size < kShortestBinary) {
        return false;
    }
    size_t end = size;
    while (end > start && text[end - 1] == '=') --end;
    for (size_t i = start; i < end; ++i) {
        const uint8_t c = text[i];
        if (!is_letter(c) && !is_digit(c) && c != '+' && c != '/' && c != '-' && c != '_') return false;
    }
    return end > start;
}

inline uint32_t size_class(size_t size) {
    uint32_t bits = 0;
    for (; size != 0; size >>= 1) ++bits;
    return bits;
}

// What a whole value, the text of a string or a number, is under a key of these kinds; 0: nothing volatile.
inline uint32_t value_kind(const uint8_t* text, size_t size, uint32_t kinds, uint32_t mask, const TextMasks& masks) {
    const TextView view(text, size);
    kinds &= mask;
    if (kinds == 0 || size == 0) return 0;
    if (kinds & kTechnicalId) {
        const bool uuid = (mask & kUuid) && size == 36 && masks.is_uuid(0);
        return uuid || text[0] == '<' ? 0 : uint32_t{kTechnicalId};
    }
    const bool whole = view.skip_digits(0) == size;
    if ((kinds & (kProcessId | kAttempt)) && whole) return kinds;
    if ((kinds & kDuration) && is_digit(text[0]) && (view.number_end(0) == size || duration_end(view, 0) == size)) return kDuration;
    const size_t digits = view.skip_digits(0);
    if ((kinds & kEpoch) && (digits == 10 || digits == 13 || digits == 16 || digits == 19) && text[0] == '1' &&
        view.number_end(0) == size) {
        return kEpoch;
    }
    bool clock = false;
    if ((kinds & kTimestamp) && is_digit(text[0]) && moment_end(view, 0, clock) == size) return kTimestamp;
    return (kinds & kBinary) && is_base64(text, size) ? uint32_t{kBinary} : 0;
}

}  // namespace loopguard
