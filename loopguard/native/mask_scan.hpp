// Finds the places in text that masks may be about, a block at a time. Read once per instruction set, hence no guard.

namespace loopguard::LOOPGUARD_TARGET {

template <class Question>
inline uint64_t each(const uint8_t* text, Question question) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i += Block::kSize) bits |= static_cast<uint64_t>(question(Block::load(text + i))) << i;
    return bits;
}

inline uint64_t equal(const uint8_t* text, char c) {
    return each(text, [c](const Block& block) { return block.equal(c); });
}

// The places of 64 bytes that masks may be about, a bit each, and what has to be known of the 64 bytes before. What is rare is
// looked for only where the first of its characters is there.
class Places {
public:
    uint64_t numbers = 0;
    uint64_t uuids = 0;
    uint64_t paths = 0;
    uint64_t blanks = 0;
    uint64_t assignments = 0;
    uint64_t braille = 0;
    uint64_t spinners = 0;

    uint64_t all() const { return numbers | uuids | paths | blanks | assignments | braille | spinners; }

    // Looks at text[-2, 96).
    void look(const uint8_t* text) {
        const uint64_t digits = each(text, [](const Block& block) { return block.digits(); });
        uint64_t words = digits;
        if (digits != 0) {
            words |= each(text, [](const Block& block) { return block.letters() | block.equal('_'); });
        } else {
            words = uint64_t{is_word(text[63])} << 63;
        }
        numbers = digits & ~((words << 1) | word_before_);
        word_before_ = words >> 63;
        const uint64_t spaces = equal(text, ' ');
        const uint64_t either = spaces | equal(text, '\t');
        const uint64_t next = either | equal(text, '\n');
        const uint64_t behind = uint64_t{is_blank(text[64]) || text[64] == '\n'} << 63;
        blanks = either & ~((either << 1) | blank_before_) & ((next >> 1) | behind);
        const uint64_t colons = equal(text, ':');
        assignments = colons | equal(text, '=');
        if (assignments != 0) {
            assignments &= each(text - 1, [](const Block& block) {
                return block.equal_letter('d') | block.equal_letter('e') | block.equal_letter('g') | block.equal('"');
            });
        }
        spinners = ((colons << 2) | colons_before_) & ((spaces << 1) | space_before_);
        if (spinners != 0) {
            spinners &= equal(text, '\\') | equal(text, '|') | equal(text, '/') | equal(text, '-');
        }
        colons_before_ = colons >> 62;
        space_before_ = spaces >> 63;
        blank_before_ = either >> 63;
        uuids = equal(text + 8, '-');
        if (uuids != 0) uuids &= equal(text + 13, '-');
        if (uuids != 0) uuids &= equal(text + 18, '-') & equal(text + 23, '-');
        paths = equal(text, '/');
        if (paths != 0) {
            paths &= (equal(text + 1, 't') & equal(text + 2, 'm')) | (equal(text + 1, 'v') & equal(text + 2, 'a'));
        }
        braille = equal(text, static_cast<char>(0xE2));
    }

private:
    uint64_t word_before_ = 0;
    uint64_t blank_before_ = 0;
    uint64_t space_before_ = 0;
    uint64_t colons_before_ = 0;
};

// Asks the masks about every place of text[0, size), of which [-2, size + 96) may be read.
inline void scan_text(const uint8_t* text, size_t size, TextMasks& masks) {
    Places places;
    for (size_t start = 0; start < size; start += 64) {
        places.look(text + start);
        uint64_t all = places.all();
        if (size - start < 64) all &= (uint64_t{1} << (size - start)) - 1;
        for (; all != 0; all &= all - 1) {
            const int bit = __builtin_ctzll(all);
            const uint64_t here = uint64_t{1} << bit;
            const size_t place = start + static_cast<size_t>(bit);
            if (place < masks.resume()) continue;
            if (places.uuids & here) masks.at_uuid(place);
            if ((places.numbers & here) && place >= masks.resume()) {
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
