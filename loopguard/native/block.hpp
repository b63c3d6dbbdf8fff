// A block of bytes that is looked at in one step. Read once per instruction set (see kernel.hpp), hence no guard.

namespace loopguard::LOOPGUARD_TARGET {

// Each question gives a mask with one bit a byte, the first byte lowest.
#if defined(LOOPGUARD_AVX2)

struct Block {
    static constexpr int kSize = 32;
    static constexpr uint32_t kAll = ~uint32_t{0};
    __m256i bytes;

    static Block load(const uint8_t* from) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))}; }
    void store(uint8_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes); }

    uint32_t equal(char c) const { return mask(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c))); }
    // In either case; `c` is lower-case.
    uint32_t equal_letter(char c) const {
        return mask(_mm256_cmpeq_epi8(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), _mm256_set1_epi8(c)));
    }

    // A quote, a backslash, a control character, or a byte of a multi-byte character.
    uint32_t special() const {
        const __m256i quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
        const __m256i backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));
        // Signed, so that bytes from 0x80 on are below the blank as control characters are.
        const __m256i outside = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes);
        return mask(_mm256_or_si256(_mm256_or_si256(quote, backslash), outside));
    }

    template <class... Characters>
    uint32_t any_of(Characters... characters) const {
        __m256i found = _mm256_setzero_si256();
        ((found = _mm256_or_si256(found, _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(characters)))), ...);
        return mask(found);
    }

    // What may stand behind a backslash of canonical text, but for u.
    uint32_t escape_letters() const {
        // By the lower half of a byte what it is, by the upper half what it may be: " b r, f n, t, and the backslash.
        const __m256i low = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 1, 0, 4, 0, 2, 0, 0, 0, 0, 0, 8, 0, 2, 0));
        const __m256i high = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 1, 0, 0, 8, 3, 5, 0, 0, 0, 0, 0, 0, 0, 0));
        const __m256i half = _mm256_set1_epi8(15);
        const __m256i either = _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half)),
                                                _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half)));
        return ~mask(_mm256_cmpeq_epi8(either, _mm256_setzero_si256()));
    }

    uint32_t digits() const { return within('0', 10, bytes); }
    uint32_t letters() const { return within('a', 26, _mm256_or_si256(bytes, _mm256_set1_epi8(0x20))); }

private:
    // There is no unsigned comparison: moved down to the least signed byte, what is in range is what is below `count`.
    static uint32_t within(char first, int count, __m256i lanes) {
        const __m256i moved = _mm256_sub_epi8(lanes, _mm256_set1_epi8(static_cast<char>(first + 128)));
        return mask(_mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(count - 128)), moved));
    }
    static uint32_t mask(__m256i lanes) { return static_cast<uint32_t>(_mm256_movemask_epi8(lanes)); }
};

#elif defined(__SSE2__)

struct Block {
    static constexpr int kSize = 16;
    static constexpr uint32_t kAll = 0xFFFF;
    __m128i bytes;

    static Block load(const uint8_t* from) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))}; }
    void store(uint8_t* to) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes); }

    uint32_t equal(char c) const { return mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))); }
    // In either case; `c` is lower-case.
    uint32_t equal_letter(char c) const {
        return mask(_mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8(c)));
    }

    // A quote, a backslash, a control character, or a byte of a multi-byte character.
    uint32_t special() const {
        const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        // Signed, so that bytes from 0x80 on are below the blank as control characters are.
        const __m128i outside = _mm_cmpgt_epi8(_mm_set1_epi8(0x20), bytes);
        return mask(_mm_or_si128(_mm_or_si128(quote, backslash), outside));
    }

    template <class... Characters>
    uint32_t any_of(Characters... characters) const {
        __m128i found = _mm_setzero_si128();
        ((found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(characters)))), ...);
        return mask(found);
    }

    // What may stand behind a backslash of canonical text, but for u.
    uint32_t escape_letters() const { return any_of('"', '\\', 'b', 'f', 'n', 'r', 't'); }

    uint32_t digits() const { return within('0', 10, bytes); }
    uint32_t letters() const { return within('a', 26, _mm_or_si128(bytes, _mm_set1_epi8(0x20))); }

private:
    // There is no unsigned comparison: moved down to the least signed byte, what is in range is what is below `count`.
    static uint32_t within(char first, int count, __m128i lanes) {
        const __m128i moved = _mm_sub_epi8(lanes, _mm_set1_epi8(static_cast<char>(first + 128)));
        return mask(_mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(count - 128)), moved));
    }
    static uint32_t mask(__m128i lanes) { return static_cast<uint32_t>(_mm_movemask_epi8(lanes)); }
};

#else

struct Block {
    static constexpr int kSize = 16;
    static constexpr uint32_t kAll = 0xFFFF;
    uint8_t bytes[kSize];

    static Block load(const uint8_t* from) {
        Block block;
        std::memcpy(block.bytes, from, kSize);
        return block;
    }
    void store(uint8_t* to) const { std::memcpy(to, bytes, kSize); }

    uint32_t equal(char c) const {
        return mask([c](uint8_t byte) { return byte == static_cast<uint8_t>(c); });
    }
    // In either case; `c` is lower-case.
    uint32_t equal_letter(char c) const {
        return mask([c](uint8_t byte) { return (byte | 0x20) == static_cast<uint8_t>(c); });
    }

    template <class... Characters>
    uint32_t any_of(Characters... characters) const {
        return mask([=](uint8_t byte) { return ((byte == static_cast<uint8_t>(characters)) || ...); });
    }

    // A quote, a backslash, a control character, or a byte of a multi-byte character.
    uint32_t special() const {
        return mask([](uint8_t byte) { return byte == '"' || byte == '\\' || byte < 0x20 || byte >= 0x80; });
    }

    // What may stand behind a backslash of canonical text, but for u.
    uint32_t escape_letters() const { return any_of('"', '\\', 'b', 'f', 'n', 'r', 't'); }

    uint32_t digits() const {
        return mask([](uint8_t byte) { return static_cast<uint8_t>(byte - '0') < 10; });
    }
    uint32_t letters() const {
        return mask([](uint8_t byte) { return static_cast<uint8_t>((byte | 0x20) - 'a') < 26; });
    }

private:
    template <class Question>
    uint32_t mask(Question question) const {
        uint32_t bits = 0;
        for (int i = 0; i < kSize; ++i) bits |= static_cast<uint32_t>(question(bytes[i])) << i;
        return bits;
    }
};

#endif

// Of the backslashes of a block those that begin an escape; `parted` is 1 if its first byte is the second of one.
inline uint32_t escape_starts(uint32_t backslashes, uint32_t parted) {
    if (__builtin_expect((backslashes & (backslashes << 1 | parted)) == 0, 1)) return backslashes;
    uint32_t starts = 0;
    backslashes &= ~parted;
    while (backslashes != 0) {
        const uint32_t first = backslashes & (0u - backslashes);
        starts |= first;
        backslashes &= ~(first | first << 1);
    }
    return starts;
}

}  // namespace loopguard::LOOPGUARD_TARGET
