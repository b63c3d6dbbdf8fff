// The canonical writer: one pass from JSON bytes to canonical text. Read once per instruction set (see kernel.hpp), hence no guard.

namespace loopguard::LOOPGUARD_TARGET {

// `kMasked`: strings are looked through for volatile text; without it that code is not there at all.
template <bool kMasked>
class Writer : StringCopier {
public:
    // The input is data[0, size); up to `limit` bytes may be read, those behind the end are zeros.
    Writer(Arena& arena, const uint8_t* start, const uint8_t* end, const uint8_t* limit, uint32_t mask, const Rules* rules)
        : StringCopier(end, limit), arena_(arena), mask_(mask), callers_mask_(mask), rules_(rules), masker_(arena, start, end, limit > end ? end + kSlack : end) {}

    uint32_t flags() const { return flags_; }
    size_t outer_members() const { return outer_members_; }

    // The outermost object's members may stay where they are, in order on the arena's stack.
    void leave_outer_members_in_place() { spans_allowed_ = true; }

    // The document is all that the arena's output is for.
    void write_alone() { alone_ = true; }

    const uint8_t* skip_space(const uint8_t* in) const {
        while (in < end_ && is_space(*in)) ++in;
        return in;
    }

    Cursor document(const uint8_t* in, uint8_t* out) {
        const bool container = in < end_ && (*in == '{' || *in == '[');
        return rules_ != nullptr && container ? ruled_value(in, out, 0, 0) : value<false>(in, out, 0);
    }

    // `kRuled`: key rules say something about members below; `state_` is theirs for this value.
    template <bool kRuled = false>
    [[gnu::always_inline]] Cursor value(const uint8_t* in, uint8_t* out, int depth) {
        if (__builtin_expect(in < end_ && *in == '"', 1)) return string(in, out);
        return other_value<kRuled>(in, out, depth);
    }

    // A string from its opening quote on.
    Cursor string(const uint8_t* in, uint8_t* out) {
        if constexpr (kMasked) {
            return masked_string(in, out);
        } else {
            return copy_string(in, out);
        }
    }

    // Masks apply but for these kinds, whatever caller and rules say.
    void never_mask(uint32_t kinds) {
        never_mask_ = kinds;
        mask_ &= ~kinds;
    }

private:
    // Below this much text it is cheaper to move the outermost members than to hash them one by one.
    static constexpr size_t kSpansPay = 2048;

    const uint8_t* next_token(const uint8_t* in) const {
        if (__builtin_expect(in < end_ && *in > ' ', 1)) return in;
        // Many encoders put one blank behind a comma and a colon.
        if (end_ - in > 1 && *in == ' ' && in[1] > ' ') return in + 1;
        return skip_more_space(in);
    }

    [[gnu::noinline]] const uint8_t* skip_more_space(const uint8_t* in) const {
        // Indented documents have long runs of blanks.
        while (in + Block::kSize <= limit_) {
            const Block block = Block::load(in);
            const uint32_t space = block.equal(' ') | block.equal('\n') | block.equal('\r') | block.equal('\t');
            const uint32_t other = ~space & kBlockMask;
            if (other != 0) return std::min(in + __builtin_ctz(other), end_);
            in += Block::kSize;
        }
        return skip_space(in);
    }

    // Whether the next token is this one; moves to it.
    bool next_is(char token, const uint8_t*& in) const {
        if (__builtin_expect(in < end_ && *in == token, 1)) return true;
        in = next_token(in);
        return in < end_ && *in == token;
    }

    [[gnu::noinline]] Cursor masked_string(const uint8_t* in, uint8_t* out) {
        escaped_ = false;
        const Cursor at = copy_string(in, out);
        if (at.in == nullptr || mask_ == 0) return at;
        return masker_.string(in + 1, out + 1, at, mask_, escaped_, key_in_force());
    }

    template <bool kRuled>
    [[gnu::noinline]] Cursor other_value(const uint8_t* in, uint8_t* out, int depth) {
        if (in >= end_) return kNotJson;
        const uint8_t c = *in;
        if (c == '{') return object<kRuled>(in, out, depth);
        if (c == '[') return array<kRuled>(in, out, depth);
        if (is_digit(c) || c == '-') return number(in, out);
        return literal(in, out);
    }

    typename Masker::Key key_in_force() const {
        return {key_ != nullptr ? key_ : arena_.output.data() + key_offset_ + 1, key_size_};
    }

    Cursor number(const uint8_t* in, uint8_t* out) {
        if constexpr (!kMasked) return copy_number(in, out);
        const size_t start = static_cast<size_t>(out - arena_.output.data());
        const Cursor at = copy_number(in, out);
        if (at.in == nullptr || mask_ == 0 || key_size_ == 0) return at;
        return masker_.number(in, arena_.output.data() + start, at, mask_, key_in_force());
    }

    // One bit for each of kDecimalRead characters that is a digit.
    static uint32_t digit_places(const uint8_t* in) {
        uint32_t places = 0;
        for (size_t at = 0; at < kDecimalRead; at += Block::kSize) places |= Block::load(in + at).digits() << at;
        return places;
    }

    // Copies what is canonical as it stands: integers that a double holds, and decimals in their shortest form.
    Cursor copy_number(const uint8_t* in, uint8_t* out) {
        const bool negative = *in == '-';
        const uint8_t* const digits = in + negative;
        if (__builtin_expect(digits + kDecimalRead > limit_, 0)) return unusual_number(in, out);
        std::memcpy(out, in, kDecimalRead);
        // The last place counts as no digit: nothing that long is copied, and so there always is one.
        constexpr uint32_t kLast = uint32_t{1} << (kDecimalRead - 1);
        uint32_t others = ~digit_places(digits) | kLast;
        const auto whole = static_cast<unsigned>(__builtin_ctz(others));
        if (digits[whole] != '.') {
            const bool exponent = (digits[whole] | 0x20) == 'e';
            const bool plain = *digits != '0' || whole + negative == 1;
            if (__builtin_expect(whole - 1 < 15 && plain && !exponent, 1)) return {digits + whole, out + negative + whole};
            return unusual_number(in, out);
        }
        others &= others - 1;
        const auto size = static_cast<unsigned>(__builtin_ctz(others | kLast));
        if (!is_canonical_decimal(digits, whole, size)) return unusual_number(in, out);
        return {digits + size, out + negative + size};
    }

    [[gnu::noinline]] Cursor unusual_number(const uint8_t* in, uint8_t* out) {
        NumberToken token{};
        if (!read_number(in, end_, token)) return kNotJson;
        out = arena_.make_room(out, static_cast<size_t>(end_ - in) + kNumberSize + kSlack);
        return {token.end, put_number(out, token, flags_)};
    }

    template <size_t kSize>
    bool is_at(const uint8_t* in, const char (&word)[kSize]) const {
        return static_cast<size_t>(end_ - in) >= kSize - 1 && std::memcmp(in, word, kSize - 1) == 0;
    }

    Cursor literal(const uint8_t* in, uint8_t* out) const {
        size_t size = 0;
        if (is_at(in, "true") || is_at(in, "null")) {
            size = 4;
        } else if (is_at(in, "false")) {
            size = 5;
        } else {
            return kNotJson;
        }
        std::memcpy(out, in, size);
        return {in + size, out + size};
    }

    // A value whose rules are those of `state`. Where rules drop it, the cursor comes back with `out` unmoved: the value was
    // read to find its end, and nothing else of it counts.
    [[gnu::noinline]] Cursor ruled_value(const uint8_t* in, uint8_t* out, int depth, int32_t state) {
        if (state == Rules::kDropped) return dropped_value(in, out, depth);
        const RuleState& rule = rules_->state(state);
        if (!rule.kept && in < end_ && *in != '{' && *in != '[') return dropped_value(in, out, depth);
        const size_t start = static_cast<size_t>(out - arena_.output.data());
        const uint32_t outer_flags = flags_;
        const int32_t outer_state = state_;
        const uint32_t outer_mask = mask_;
        const bool outer_kept = something_kept_;
        mask_ = (callers_mask_ | rule.mask) & ~never_mask_;
        state_ = state;
        something_kept_ = rule.kept;
        Cursor at = rule.inert ? value<false>(in, out, depth) : value<true>(in, out, depth);
        if (at.in != nullptr && !something_kept_ && depth > 0) {
            at.out = arena_.output.data() + start;
            flags_ = outer_flags;
        }
        something_kept_ |= outer_kept;
        state_ = outer_state;
        mask_ = outer_mask;
        return at;
    }

    Cursor dropped_value(const uint8_t* in, uint8_t* out, int depth) {
        const size_t start = static_cast<size_t>(out - arena_.output.data());
        const uint32_t outer_flags = flags_;
        const uint32_t outer_mask = mask_;
        mask_ = 0;
        const Cursor at = value<false>(in, out, depth);
        mask_ = outer_mask;
        flags_ = outer_flags;
        return {at.in, arena_.output.data() + start};
    }

    template <bool kRuled>
    [[gnu::noinline]] Cursor array(const uint8_t* in, uint8_t* out, int depth) {
        if (depth >= kMaxDepth) return kNotJson;
        *out++ = '[';
        in = next_token(in + 1);
        if (in < end_ && *in == ']') {
            *out++ = ']';
            return {in + 1, out};
        }
        int32_t items = 0;
        bool any = !kRuled;
        if constexpr (kRuled) items = rules_->state(state_).other;
        for (;;) {
            if constexpr (kMasked) key_size_ = 0;
            Cursor item;
            if constexpr (kRuled) {
                const size_t start = static_cast<size_t>(out - arena_.output.data());
                item = ruled_value(in, out, depth + 1, items);
                out = arena_.output.data() + start;  // the buffer may have moved
            } else {
                item = value<false>(in, out, depth + 1);
            }
            if (item.in == nullptr) return kNotJson;
            const bool left_out = kRuled && item.out == out;
            in = item.in;
            out = item.out;
            if (!left_out) {
                *out++ = ',';
                any = true;
            }
            const bool more = next_is(',', in);
            if (!more && (in >= end_ || *in != ']')) return kNotJson;
            ++in;
            if (!more) break;
            in = next_token(in);
        }
        if (any) {
            out[-1] = ']';
        } else {
            *out++ = ']';
        }
        return {in, out};
    }

    template <bool kRuled>
    [[gnu::noinline]] Cursor object(const uint8_t* in, uint8_t* out, int depth) {
        if (depth >= kMaxDepth) return kNotJson;
        *out++ = '{';
        in = next_token(in + 1);
        if (in < end_ && *in == '}') {
            *out++ = '}';
            return {in + 1, out};
        }
        const size_t first_member = arena_.members.size();
        const size_t first_byte = static_cast<size_t>(out - arena_.output.data());
        bool sorted = true;
        for (;;) {
            if (in >= end_ || *in != '"') return kNotJson;
            Member& member = arena_.members.add();
            int32_t state = 0;
            const uint32_t outer_flags = flags_;
            const uint8_t* const key_start = in + 1;
            const size_t key_offset = static_cast<size_t>(out - arena_.output.data());
            Cursor at = key<kRuled>(in, out, member, state);
            if (at.in == nullptr) return kNotJson;
            if (arena_.members.size() - 1 > first_member) sorted = sorted && follows(*(&member - 1), member);
            in = at.in;
            if (!next_is(':', in)) return kNotJson;
            const size_t key_size = static_cast<size_t>(at.out - out) - 2;
            *at.out = ':';
            in = next_token(in + 1);
            if constexpr (kMasked) {
                // What was not rewritten is looked at where it was read: the output's bytes were just stored, the member too.
                key_ = member.decode == 0 ? key_start : nullptr;
                key_offset_ = key_offset;
                key_size_ = key_size;
            }
            bool left_out = false;
            if constexpr (kRuled) {
                const size_t start = static_cast<size_t>(at.out + 1 - arena_.output.data());
                at = ruled_value(in, at.out + 1, depth + 1, state);
                left_out = at.out == arena_.output.data() + start;
            } else {
                at = value<false>(in, at.out + 1, depth + 1);
            }
            if (at.in == nullptr) return kNotJson;
            out = at.out;
            // The reference may not be good any more.
            Member& written = arena_.members.last();
            if (!left_out) {
                written.size = static_cast<size_t>(out - arena_.output.data()) - written.offset;
                *out++ = ',';
            } else {
                out = arena_.output.data() + written.offset;
                flags_ = outer_flags;
                arena_.members.drop_last();
            }
            in = at.in;
            const bool more = next_is(',', in);
            if (!more && (in >= end_ || *in != '}')) return kNotJson;
            ++in;
            if (!more) break;
            in = next_token(in);
        }
        if (!sorted) {
            out = reorder(first_member, first_byte, out, depth);
            if (outer_members_ != 0) return {in, out};
        }
        if (kRuled && arena_.members.size() == first_member) ++out;  // nothing stayed: the brace is no comma's place
        out[-1] = '}';
        arena_.members.shrink(first_member);
        return {in, out};
    }

    // Writes a key; `state` becomes that of its value.
    template <bool kRuled>
    Cursor key(const uint8_t* in, uint8_t* out, Member& member, int32_t& state) {
        escaped_ = false;
        const Cursor at = copy_string(in, out);
        if (at.in == nullptr) return kNotJson;
        member.offset = static_cast<size_t>(out - arena_.output.data());
        member.key_size = static_cast<size_t>(at.out - out) - 2;
        member.decode = escaped_;
        member.raw_key = 0;
        if constexpr (kRuled) state = rules_->state(state_).next(out + 1, member.key_size);
        if constexpr (kMasked) {
            if (__builtin_expect(member.key_size >= WrapperNonce::kShortestPair, 0)) mask_key(in, out, at, member);
        }
        // Only what has no escapes is compared by it, and so the input's bytes will do: the output's were just stored.
        uint64_t prefix;
        std::memcpy(&prefix, (in + 9 <= limit_ ? in : out) + 1, 8);
        prefix = big_endian(prefix);
        if (member.key_size < 8) prefix &= ~(~uint64_t{0} >> (8 * member.key_size));
        member.prefix = static_cast<int64_t>(prefix ^ uint64_t{1} << 63);
        if (__builtin_expect((prefix & 0x8080808080808080u) != 0, 0)) {
            for (size_t i = 0; i < std::min<size_t>(member.key_size, 8); ++i) member.decode |= out[1 + i] >= 0xEE;
        }
        return at;
    }

    [[gnu::noinline]] void mask_key(const uint8_t* in, uint8_t* out, Cursor at, Member& member) {
        if ((mask_ & kWrapperNonce) == 0) return;
        std::string raw(reinterpret_cast<const char*>(out + 1), member.key_size);
        if (!masker_.key_nonces(in + 1, at.in, out + 1, member.key_size)) return;
        member.raw_key = arena_.keep_raw_key(std::move(raw));
        member.decode = 1;
    }

    static uint64_t big_endian(uint64_t value) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return __builtin_bswap64(value);
#else
        return value;
#endif
    }

    bool follows(const Member& before, const Member& member) const {
        if (__builtin_expect((before.decode | member.decode) == 0 && before.prefix != member.prefix, 1)) {
            return before.prefix < member.prefix;
        }
        return MemberOrder(arena_).compare(before, member) < 0;
    }

    // Up to this many members are ranked.
    static constexpr size_t kRanked = 16;

    // The order of few members with different prefixes, as nearly all objects have: each one's place is the number of those
    // that are less, and no branch depends on the keys. False if prefixes are not enough.
    static bool rank(const Member* members, size_t count, uint8_t (&order)[kRanked]) {
        using Four = int64_t __attribute__((vector_size(32)));
        alignas(Four) int64_t places[kRanked];
        uint32_t decode = 0;
        for (size_t i = 0; i < count; i += 4) {
            // Put together of its own loads: one of what was stored in parts would have to wait.
            const Member* const own = members + i;
            const Four prefixes{own[0].prefix, own[1].prefix, own[2].prefix, own[3].prefix};
            Four place{};
            for (size_t j = 0; j < count; ++j) place -= prefixes > members[j].prefix;
            std::memcpy(places + i, &place, sizeof place);
        }
        uint32_t taken = 0;
        for (size_t i = 0; i < count; ++i) {
            decode |= members[i].decode;
            taken |= 1u << places[i];
            order[places[i]] = static_cast<uint8_t>(i);
        }
        return decode == 0 && taken == (1u << count) - 1;
    }

    static void permute(Member* members, size_t count, const uint8_t (&order)[kRanked]) {
        Member ordered[kRanked];
        for (size_t i = 0; i < count; ++i) ordered[i] = members[order[i]];
        std::memcpy(members, ordered, count * sizeof(Member));
    }

    // Brings the members from `first_member` on, whose text is [first_byte, out), in order; returns the new end.
    [[gnu::noinline]] uint8_t* reorder(size_t first_member, size_t first_byte, uint8_t* out, int depth) {
        Member* const members = arena_.members.data() + first_member;
        size_t count = arena_.members.size() - first_member;
        uint8_t* const text = arena_.output.data();
        const size_t size = static_cast<size_t>(out - text) - first_byte;
        const bool spans = depth == 0 && spans_allowed_ && size > kSpansPay;
        uint8_t order[kRanked];
        const bool ranked = count <= kRanked && rank(members, count, order);
        if (!ranked) {
            const size_t kept = MemberOrder(arena_).sort(members, count);
            if (kept != count) flags_ |= kDuplicateKey;
            count = kept;
        }
        if (spans) {
            if (ranked) permute(members, count, order);
            arena_.members.shrink(first_member + count);
            outer_members_ = count;
            return out;
        }
        arena_.scratch.reserve(first_byte + size + kSlack);
        uint8_t* const start = arena_.scratch.data() + first_byte;
        uint8_t* to = start;
        const auto put = [&](const Member& member) {
            const uint8_t* from = text + member.offset;
            const size_t member_size = member.size + 1;
            // A call of memcpy costs more than a short member.
            if (member_size <= 256) {
                for (size_t copied = 0; copied < member_size; copied += Block::kSize) {
                    Block::load(from + copied).store(to + copied);
                }
            } else {
                std::memcpy(to, from, member_size);
            }
            to += member_size;
        };
        if (ranked) {
            for (size_t i = 0; i < count; ++i) put(members[order[i]]);
        } else {
            for (size_t i = 0; i < count; ++i) put(members[i]);
        }
        if (alone_ && depth == 0) {
            // Nothing but this object is written: no need to bring it back.
            arena_.scratch.data()[0] = '{';
            arena_.output.swap(arena_.scratch);
            return to;
        }
        std::memcpy(text + first_byte, start, static_cast<size_t>(to - start));
        return text + first_byte + (to - start);
    }

    static constexpr uint32_t kBlockMask = Block::kSize == 32 ? ~uint32_t{0} : (uint32_t{1} << (Block::kSize & 31)) - 1;

    Arena& arena_;
    uint32_t mask_;  // in force for the value being written
    const uint32_t callers_mask_;
    uint32_t never_mask_ = 0;
    const Rules* const rules_;
    Masker masker_;
    const uint8_t* key_ = nullptr;  // in the input, of the value being written; size 0 where it has none
    size_t key_offset_ = 0;         // in the output, for a key that is another there
    size_t key_size_ = 0;
    int32_t state_ = 0;            // of the container being written, where rules look at it
    bool something_kept_ = false;  // below the value being written
    bool spans_allowed_ = false;
    bool alone_ = false;
    size_t outer_members_ = 0;
};

}  // namespace loopguard::LOOPGUARD_TARGET
