// The ids of paired wrapper markers round untrusted text become sixteen zeros.
#pragma once

#include "text.hpp"

namespace loopguard {

// Works on canonical text, where the markers' quotes and backslashes are escaped: k backslashes and a quote have become
// K = 2k + 1 backslashes and a quote. So the rules hold with K in place of k: K + 1 is a power of two from 2 on, and K + 1
// divides (backslashes before a quote + 1).
class WrapperNonce {
public:
    static constexpr size_t kIdSize = 16;

    // Neutralises in place; true if anything was. Linear: a start marker looks no further than the next marker. `places`
    // takes where the ids are.
    static bool neutralise(uint8_t* text, size_t size, std::vector<size_t>* places) {
        uint8_t* const end = text + size;
        bool changed = false;
        uint8_t* at = find(text, end, kStart, sizeof kStart - 1);
        while (at != nullptr) {
            Marker opening{};
            uint8_t* next = at + sizeof kStart - 1;
            if (read(at, end, kStart, sizeof kStart - 1, opening)) {
                next = opening.end;
                Marker closing{};
                uint8_t* const other = next_marker(opening.end, end);
                if (other != nullptr && read(other, end, kEnd, sizeof kEnd - 1, closing) && matches(opening, closing) &&
                    nests(opening.end, other, opening.backslashes)) {
                    std::memset(opening.id, '0', kIdSize);
                    std::memset(closing.id, '0', kIdSize);
                    changed = true;
                    if (places != nullptr) {
                        places->push_back(static_cast<size_t>(opening.id - text));
                        places->push_back(static_cast<size_t>(closing.id - text));
                    }
                    next = closing.end;
                }
            }
            at = find(next, end, kStart, sizeof kStart - 1);
        }
        return changed;
    }

    // No pair is shorter, so shorter text need not be looked at.
    static constexpr size_t kShortestPair = 100;

private:
    static constexpr char kStart[] = "<<<EXTERNAL_UNTRUSTED_CONTENT";
    static constexpr char kEnd[] = "<<<END_EXTERNAL_UNTRUSTED_CONTENT";
    struct Marker {
        uint8_t* id;
        uint8_t* end;
        size_t backslashes;
    };

    static uint8_t* find(uint8_t* from, uint8_t* end, const char* what, size_t size) {
        return static_cast<uint8_t*>(memmem(from, static_cast<size_t>(end - from), what, size));
    }

    static uint8_t* next_marker(uint8_t* from, uint8_t* end) {
        uint8_t* const opening = find(from, end, kStart, sizeof kStart - 1);
        uint8_t* const closing = find(from, opening == nullptr ? end : opening, kEnd, sizeof kEnd - 1);
        return closing == nullptr ? opening : closing;
    }

    static bool read(uint8_t* at, uint8_t* end, const char* word, size_t word_size, Marker& marker) {
        const auto literal = [&](const char* what, size_t size) {
            if (static_cast<size_t>(end - at) < size || std::memcmp(at, what, size) != 0) return false;
            at += size;
            return true;
        };
        const auto backslashes = [&] {
            const uint8_t* const first = at;
            while (at < end && *at == '\\') ++at;
            return static_cast<size_t>(at - first);
        };
        if (!literal(word, word_size) || !literal(" id=", 4)) return false;
        marker.backslashes = backslashes();
        const size_t step = marker.backslashes + 1;
        if (step < 2 || (step & (step - 1)) != 0) return false;
        if (!literal("\"", 1) || static_cast<size_t>(end - at) < kIdSize) return false;
        marker.id = at;
        for (size_t i = 0; i < kIdSize; ++i, ++at) {
            if (!is_digit(*at) && !(*at >= 'a' && *at <= 'f')) return false;
        }
        if (backslashes() != marker.backslashes || !literal("\">>>", 4)) return false;
        marker.end = at;
        return true;
    }

    static bool matches(const Marker& opening, const Marker& closing) {
        return opening.backslashes == closing.backslashes && std::memcmp(opening.id, closing.id, kIdSize) == 0;
    }

    // Every quote between the markers is escaped at least as deeply as the markers' own.
    static bool nests(const uint8_t* in, const uint8_t* end, size_t backslashes) {
        size_t run = 0;
        for (; in < end; ++in) {
            if (*in == '"' && (run + 1) % (backslashes + 1) != 0) return false;
            run = *in == '\\' ? run + 1 : 0;
        }
        return true;
    }
};

}  // namespace loopguard
