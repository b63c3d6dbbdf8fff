// Copies strings to canonical text, a block at a time. Read once per instruction set (see kernel.hpp), hence no guard.

namespace loopguard::LOOPGUARD_TARGET {

class StringCopier {
protected:
    // Strings end before `end`; up to `limit` bytes may be read, those behind the end are zeros.
    StringCopier(const uint8_t* end, const uint8_t* limit) : end_(end), limit_(limit) {}

    // From the opening quote on.
    Cursor copy_string(const uint8_t* in, uint8_t* out) {
        uint32_t quote = 1;
        while (__builtin_expect(in + Block::kSize <= limit_, 1)) {
            const Block block = Block::load(in);
            block.store(out);
            const uint32_t special = block.special() & ~quote;
            if (__builtin_expect(special != 0, 1)) {
                // All that follows waits for where the string ends; that nothing before is special has only to be confirmed.
                const uint32_t quotes = block.equal('"') & ~quote;
                if (__builtin_expect((quotes & -quotes) != (special & -special), 0)) break;
                const int at = __builtin_ctz(quotes);
                return {in + at + 1, out + at + 1};
            }
            quote = 0;
            in += Block::kSize;
            out += Block::kSize;
        }
        if (quote != 0) {
            *out++ = '"';
            ++in;
        }
        return copy_special_string(in, out);
    }

    // Goes on inside a string that has something special, or is near the end of a document that is not padded. A block whose
    // escapes are all canonical already, as nearly all are that encoders write, is passed without a look at each.
    [[gnu::noinline]] Cursor copy_special_string(const uint8_t* in, uint8_t* out) {
        uint32_t parted = 0;  // 1 if the block before ends with an escape's backslash
        while (in + Block::kSize <= limit_) {
            const Block block = Block::load(in);
            block.store(out);
            const uint32_t special = block.special();
            const uint32_t backslashes = escape_starts(block.equal('\\'), parted);
            const uint32_t letters = (backslashes << 1 | parted) & Block::kAll;
            const uint32_t unusual = letters & ~block.escape_letters();
            uint32_t stop = (special & ~(backslashes | letters)) | unusual;
            Cursor next{in + Block::kSize, out + Block::kSize};
            while (stop != 0) {
                const int at = __builtin_ctz(stop);
                if ((unusual >> at & 1) != 0) {
                    if (!is_canonical_control(in + at, end_)) {
                        next = copy_unusual(in + at - 1, out + at - 1);
                        break;
                    }
                } else if (in[at] == '"') {
                    escaped_ |= (backslashes & ((uint32_t{1} << at) - 1)) != 0;
                    return {in + at + 1, out + at + 1};
                } else {
                    const Cursor behind = copy_unusual(in + at, out + at);
                    if (behind.in == nullptr) return kNotJson;
                    if (behind.in >= next.in) {
                        next = behind;
                        break;
                    }
                    stop &= ~uint32_t{0} << (behind.in - in);
                    continue;
                }
                stop &= stop - 1;
            }
            if (next.in == nullptr) return kNotJson;
            escaped_ |= backslashes != 0;
            parted = stop == 0 ? backslashes >> (Block::kSize - 1) & 1 : 0;
            in = next.in;
            out = next.out;
        }
        in -= parted;
        out -= parted;
        while (in < end_) {
            const uint8_t c = *in;
            if (c == '"') {
                *out++ = '"';
                return {in + 1, out};
            }
            if (c == '\\' && end_ - in >= 2 && kSimpleEscape[in[1]]) {
                escaped_ = true;
                std::memcpy(out, in, 2);
                in += 2;
                out += 2;
            } else if (c >= ' ' && c < 0x80 && c != '\\') {
                *out++ = c;
                ++in;
            } else {
                const Cursor next = copy_unusual(in, out);
                if (next.in == nullptr) return kNotJson;
                in = next.in;
                out = next.out;
            }
        }
        return kNotJson;
    }

    const uint8_t* const end_;
    const uint8_t* const limit_;
    uint32_t flags_ = 0;
    bool escaped_ = false;  // a string had an escape since this was last cleared

private:
    Cursor copy_unusual(const uint8_t* in, uint8_t* out) {
        if (*in >= 0x80) return copy_utf8(in, end_, out);
        if (*in != '\\') return kNotJson;
        escaped_ = true;
        return rewrite_escape(in, end_, out, flags_);
    }
};

}  // namespace loopguard::LOOPGUARD_TARGET
