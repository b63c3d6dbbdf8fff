// Finds the places in text that masks may be about: a byte and its two neighbours, many at a time. Read once per instruction
// set, hence no guard.

namespace loopguard::LOOPGUARD_TARGET {

#if defined(LOOPGUARD_AVX2)

// What questions 32 bytes may be for.
inline __m256i allowed(const HintTable& table, const uint8_t* from) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i half = _mm256_set1_epi8(15);
    const __m256i low = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table.low)));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table.high)));
    return _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half)),
                            _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half)));
}

inline __m256i all_but(Hint question) { return _mm256_set1_epi8(static_cast<char>(~(1 << question))); }

inline __m256i equal(const uint8_t* from, char c) { return _mm256_cmpeq_epi8(Block::load(from).bytes, _mm256_set1_epi8(c)); }

// The places of 32 where a byte and its neighbours are in the sets of one question. Blanks begin there, a dash has another five
// bytes behind it, as a UUID's first has, and a slash another four bytes on, as /tmp/ and /var/ have.
inline uint32_t hints32(const uint8_t* text) {
    const __m256i begun = _mm256_andnot_si256(all_but(kBlanks), equal(text - 1, ' '));
    const __m256i dashed = _mm256_or_si256(equal(text + 5, '-'), all_but(kDash));
    const __m256i slashed = _mm256_or_si256(equal(text + 4, '/'), all_but(kPath));
    const __m256i here = _mm256_andnot_si256(begun, allowed(kHintsHere, text));
    const __m256i around = _mm256_and_si256(allowed(kHintsBefore, text - 1), allowed(kHintsBehind, text + 1));
    const __m256i all = _mm256_and_si256(_mm256_and_si256(here, around), _mm256_and_si256(dashed, slashed));
    // These would need two more sets, and are rare.
    const __m256i others = _mm256_or_si256(equal(text, '\t'), equal(text, '\xE2'));
    const __m256i none = _mm256_andnot_si256(others, _mm256_cmpeq_epi8(all, _mm256_setzero_si256()));
    return ~static_cast<uint32_t>(_mm256_movemask_epi8(none));
}

#else

// Without a lookup for many bytes at once, but for numbers and blanks the byte alone has to do.
inline uint32_t hints32(const uint8_t* text) {
    uint32_t bits = 0;
    for (int i = 0; i < 32; i += Block::kSize) {
        const Block before = Block::load(text + i - 1);
        const Block here = Block::load(text + i);
        const Block behind = Block::load(text + i + 1);
        uint32_t found = here.digits() & ~before.digits();
        found |= here.any_of(' ', '\t') & behind.any_of(' ', '\t', '\n', '\0');
        found |= here.any_of(':', '=') & before.any_of('d', 'D', 'e', 'E', 'g', 'G', '"');
        found |= here.equal('/') & behind.any_of('t', 'v');
        found |= before.equal(' ') & here.any_of('/', '-', '\\', '|');
        found |= here.equal('-') & (behind.digits() | behind.letters());
        found |= here.equal(static_cast<char>(0xE2));
        bits |= found << i;
    }
    return bits;
}

#endif

inline uint64_t hints64(const uint8_t* text) { return hints32(text) | static_cast<uint64_t>(hints32(text + 32)) << 32; }

// Of 64 places from `start` on those that are not before `place`.
inline uint64_t from(size_t place, size_t start) {
    if (place <= start) return ~uint64_t{0};
    return place - start < 64 ? ~uint64_t{0} << (place - start) : 0;
}

// Asks the masks about every place of text[0, size), which has a zero before and behind it, and of which [-32, size + 96) may
// be read; `allowed` are the questions that the mask allows. What is decided already is passed over.
inline void scan_text(const uint8_t* text, size_t size, TextMasks& masks, uint32_t allowed) {
    for (size_t start = 0; start < size; start += 64) {
        uint64_t left = hints64(text + start) & from(masks.resume(), start);
        if (size - start < 64) left &= (uint64_t{1} << (size - start)) - 1;
        while (left != 0) {
            const size_t place = start + static_cast<size_t>(__builtin_ctzll(left));
            left &= left - 1;
            const uint8_t* const at = text + place;
            if (is_digit(*at)) {
                const uint32_t asks = asks_of_number(at, allowed);
                if (asks == 0) continue;
                masks.number(place, asks);
            } else {
                const uint32_t asks = asks_of_mark(at, allowed);
                if (asks == 0) continue;
                masks.mark(place, asks);
            }
            left &= from(masks.resume(), start);
        }
    }
    masks.at_end();
}

#if defined(LOOPGUARD_AVX2)

inline constexpr uint8_t kAllButFirst[Block::kSize + 1] = {
    0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
};

// Writes a block whose escapes, begun at `backslashes`, all are of the plain kind that text has: line ends, tabs and quotes.
// `parted` is 1 if its first byte is such an escape's letter. False if there is another.
inline bool put_plain_escapes(const Block& block, const uint8_t* in, uint8_t* out, uint32_t backslashes, uint32_t parted) {
    // By the lower half of the letter.
    const __m256i plain = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, '"', 0, 't', 0, 0, 0, 0, 0, 0, 0, 0, 0, 'n', 0));
    const __m256i characters = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, '"', 0, '\t', 0, 0, 0, 0, 0, 0, 0, 0, 0, '\n', 0));
    const __m256i is_plain = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(plain, block.bytes), block.bytes);
    const uint32_t letters = backslashes << 1 | parted;
    if ((letters & ~static_cast<uint32_t>(_mm256_movemask_epi8(is_plain))) != 0) return false;
    const __m256i backslash = _mm256_set1_epi8('\\');
    const __m256i first = _mm256_shuffle_epi8(characters, Block::load(in + 1).bytes);
    const __m256i second = _mm256_shuffle_epi8(characters, block.bytes);
    // What stands before the block may be a backslash that begins no escape.
    const __m256i counts = Block::load(kAllButFirst + parted).bytes;
    const __m256i behind = _mm256_and_si256(_mm256_cmpeq_epi8(Block::load(in - 1).bytes, backslash), counts);
    const __m256i with_second = _mm256_blendv_epi8(block.bytes, second, behind);
    Block{_mm256_blendv_epi8(with_second, first, _mm256_cmpeq_epi8(block.bytes, backslash))}.store(out);
    return true;
}

#else

inline bool put_plain_escapes(const Block& block, const uint8_t*, uint8_t* out, uint32_t backslashes, uint32_t) {
    block.store(out);
    return backslashes == 0;
}

#endif

// Out of line, so that what nearly all blocks do without is not done for all of them.
[[gnu::noinline]] inline uint32_t bits_below(unsigned count) { return (uint32_t{1} << count) - 1; }

// Makes the text that masks read of canonical text, as long as it, but for `cuts` where it is cleaned of terminal control.
// `out` has room for a block more. Returns the size; `kReplay` if cleaning takes a Screen.
constexpr size_t kReplay = ~size_t{0};

inline size_t prepare_text(const uint8_t* in, const uint8_t* end, uint8_t* out, bool clean, Arena& arena) {
    const uint8_t* const text = in;
    uint8_t* const start = out;
    uint32_t parted = 0;  // 1 if the block before ends with an escape's backslash
    const uint8_t* const last_block = end - Block::kSize;
    while (in < end) {
        const Block block = Block::load(in);
        uint32_t backslashes = block.equal('\\');
        if (__builtin_expect(in > last_block, 0)) backslashes &= bits_below(static_cast<unsigned>(end - in));
        if (put_plain_escapes(block, in, out, backslashes, parted)) {
            parted = backslashes >> (Block::kSize - 1);
            in += Block::kSize;
            out += Block::kSize;
            continue;
        }
        if (parted != 0) {
            parted = 0;
            --in;
            --out;
            continue;
        }
        block.store(out);
        int step = Block::kSize;
        while (backslashes != 0) {
            const int at = __builtin_ctz(backslashes);
            const uint8_t letter = in[at + 1];
            const uint8_t c = kEscapedCharacter[letter];
            if (__builtin_expect(c != 0 && !(clean && (c == '\r' || c == '\b')), 1)) {
                out[at] = out[at + 1] = c;
                backslashes &= ~(uint32_t{3} << at);
                step += at == Block::kSize - 1;
                continue;
            }
            in += at;
            out += at;
            step = 0;
            const uint8_t* const from = in;
            const size_t colour = clean ? colour_size(in, end) : 0;
            if (colour != 0) {
                in += colour;
                arena.cuts.put(static_cast<size_t>(out - start), static_cast<size_t>(from - text), static_cast<size_t>(in - text));
                break;
            }
            const int unit = letter == 'u' ? code_unit(in + 2) : 0x1B;
            if (clean && unit == 0x1B) {
                if (!cut_escape(in, end, out == start || out[-1] == '\n')) return kReplay;
                arena.cuts.put(static_cast<size_t>(out - start), static_cast<size_t>(from - text), static_cast<size_t>(in - text));
            } else {
                out = put_repeated_unit(out, static_cast<uint32_t>(unit));
                in += 6;
            }
            break;
        }
        in += step;
        out += step;
    }
    return static_cast<size_t>(out - start) - static_cast<size_t>(in - end);
}

}  // namespace loopguard::LOOPGUARD_TARGET
