// Finds the places in text that masks may be about, a block at a time. Read once per instruction set, hence no guard.

namespace loopguard::LOOPGUARD_TARGET {

// 64 bytes at once, a bit each.
struct Places {
    uint64_t numbers;
    uint64_t uuids;
    uint64_t paths;
    uint64_t blanks;
    uint64_t assignments;
    uint64_t braille;
    uint64_t spinners;

    uint64_t all() const { return numbers | uuids | paths | blanks | assignments | braille | spinners; }
};

template <class Question>
inline uint64_t each(const uint8_t* text, Question question) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i += Block::kSize) bits |= static_cast<uint64_t>(question(Block::load(text + i))) << i;
    return bits;
}

inline uint64_t equal(const uint8_t* text, char c) {
    return each(text, [c](const Block& block) { return block.equal(c); });
}

// Looks at text[-2, 90). `word_before` and `blank_before`: whether the byte before is a word's or a blank; they come out for
// the next 64 bytes.
inline Places find_places(const uint8_t* text, uint64_t& word_before, uint64_t& blank_before) {
    Places places;
    const uint64_t digits = each(text, [](const Block& block) { return block.digits(); });
    const uint64_t words = digits | each(text, [](const Block& block) { return block.letters() | block.equal('_'); });
    places.numbers = digits & ~((words << 1) | word_before);
    word_before = words >> 63;
    const uint64_t blanks = equal(text, ' ') | equal(text, '\t');
    const uint64_t blanks_next = equal(text + 1, ' ') | equal(text + 1, '\t') | equal(text + 1, '\n');
    places.blanks = blanks & ~((blanks << 1) | blank_before) & blanks_next;
    blank_before = blanks >> 63;
    places.uuids = equal(text + 8, '-');
    if (places.uuids != 0) places.uuids &= equal(text + 13, '-') & equal(text + 18, '-') & equal(text + 23, '-');
    places.paths = equal(text, '/');
    if (places.paths != 0) places.paths &= (equal(text + 1, 't') & equal(text + 2, 'm')) | (equal(text + 1, 'v') & equal(text + 2, 'a'));
    const uint64_t colons = equal(text, ':');
    places.assignments = colons | equal(text, '=');
    if (places.assignments != 0) {
        places.assignments &= each(text - 1, [](const Block& block) {
            return block.equal('d') | block.equal('D') | block.equal('e') | block.equal('E') | block.equal('g') | block.equal('G') |
                   block.equal('"');
        });
    }
    places.braille = equal(text, static_cast<char>(0xE2));
    places.spinners = equal(text - 2, ':') & equal(text - 1, ' ');
    if (places.spinners != 0) {
        places.spinners &= equal(text, '\\') | equal(text, '|') | equal(text, '/') | equal(text, '-');
    }
    return places;
}

// Asks the masks about every place of text[0, size), of which [-2, size + 96) may be read.
inline void scan_text(const uint8_t* text, size_t size, TextMasks& masks) {
    uint64_t word_before = 0;
    uint64_t blank_before = 0;
    for (size_t start = 0; start < size; start += 64) {
        const Places places = find_places(text + start, word_before, blank_before);
        uint64_t all = places.all();
        if (size - start < 64) all &= (uint64_t{1} << (size - start)) - 1;
        for (; all != 0; all &= all - 1) {
            const int bit = __builtin_ctzll(all);
            const uint64_t here = uint64_t{1} << bit;
            const size_t place = start + static_cast<size_t>(bit);
            if (places.uuids & here) masks.at_uuid(place);
            if (places.numbers & here) {
                masks.at_number(place);
            } else if (places.blanks & here) {
                masks.at_blanks(place);
            } else if (places.assignments & here) {
                masks.at_assignment(place);
            } else if (places.braille & here) {
                if (size - place >= 3 && (text[place + 1] & 0xFC) == 0xA0) masks.at_spinner(place, 3);
            } else {
                if (places.paths & here) masks.at_path(place);
                if ((places.spinners & here) && place >= 2) masks.at_spinner(place, 1);
            }
        }
    }
    // The last blank has nothing behind it that the blocks could see.
    masks.at_end();
}

// Decodes canonical text; with `clean` without terminal control sequences and what they overwrote. `out` has room for the
// text's size and a block more. Returns the size.
inline size_t decode_for_masks(const uint8_t* in, const uint8_t* end, uint8_t* out, bool clean, bool& cleaned) {
    uint8_t* const start = out;
    while (in < end) {
        const Block block = Block::load(in);
        block.store(out);
        const uint32_t backslash = block.equal('\\');
        if (backslash == 0) {
            const size_t step = std::min<size_t>(Block::kSize, static_cast<size_t>(end - in));
            in += step;
            out += step;
            continue;
        }
        const size_t plain = static_cast<size_t>(__builtin_ctz(backslash));
        if (plain >= static_cast<size_t>(end - in)) {
            out += end - in;
            break;
        }
        in += plain;
        out += plain;
        if (in[1] == 'n') {
            *out++ = '\n';
            in += 2;
        } else if (clean && (in[1] == 'r' || in[1] == 'b' || in[1] == 'u')) {
            const uint8_t* const before = out;
            in = clean_escape(in, end, start, out);
            cleaned |= out <= before;
        } else {
            out = put_utf8(out, next_point(in));
        }
    }
    return static_cast<size_t>(out - start);
}

// Writes decoded text as canonical text. `out` has room for six bytes a byte and a block more.
inline uint8_t* encode_text(const uint8_t* in, const uint8_t* end, uint8_t* out) {
    while (in < end) {
        const Block block = Block::load(in);
        block.store(out);
        const uint32_t special = block.special();
        const size_t plain = special == 0 ? Block::kSize : static_cast<size_t>(__builtin_ctz(special));
        if (plain >= static_cast<size_t>(end - in)) return out + (end - in);
        in += plain;
        out += plain;
        if (special != 0) out = put_special(in, end, out);
    }
    return out;
}

}  // namespace loopguard::LOOPGUARD_TARGET
