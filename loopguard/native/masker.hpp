// Masks one value that was written: a string's text, or what a key says about its whole value. Read once per instruction set,
// hence no guard.

namespace loopguard::LOOPGUARD_TARGET {

class Masker {
public:
    // A value's key, canonical without quotes; none has size 0.
    struct Key {
        const uint8_t* text;
        size_t size;
    };

    // The input is [document, end), readable up to `readable`.
    Masker(Arena& arena, const uint8_t* document, const uint8_t* end, const uint8_t* readable)
        : arena_(arena), document_(document), end_(end), readable_(readable) {}

    // The string stands in the input from `input` on and in the output from `start` on, both without the opening quote. Returns
    // the cursor behind it.
    Cursor string(const uint8_t* input, uint8_t* start, Cursor at, uint32_t mask, bool escaped, Key key) {
        const size_t size = static_cast<size_t>(at.out - start) - 1;
        if (size <= 64 && !escaped && mask != 0) {
            // Most short strings have nothing in them that a mask may be about.
            if (size == 0) return at;
            if (input + 96 <= readable_ && key_kinds(key.text, key.size, arena_.key_cache) == 0 && !is_text(key)) {
                const uint64_t hints = hints_of(input, size);
                // The input's quotes stand for the zeros that questions stop at, but for what has to be the last of the text.
                if (hints == 0 && !is_any(input[size - 1], " \t/-|")) return at;
                if (!is_blank(input[size - 1]) && !is_anything_left(start, size, hints, mask)) return at;
            }
        }
        return masked_string(input, start, at, mask, escaped, key);
    }

    // A number that stands in the input from `input` on and was written at `start`.
    Cursor number(const uint8_t* input, uint8_t* start, Cursor at, uint32_t mask, Key key) {
        const uint32_t kinds = key_kinds(key.text, key.size, arena_.key_cache) & ~kBinary & mask;
        return kinds == 0 ? at : keyed_number(input, start, at, kinds, mask);
    }

    // Neutralises the wrapper nonces of a key; true if there were any.
    bool key_nonces(const uint8_t* input, const uint8_t* end, uint8_t* start, size_t size) {
        return has_marker(start, start + size) && nonces(input, start, size, end);
    }

private:
    // The places of up to 64.
    static uint64_t hints_of(const uint8_t* text, size_t size) {
        return (size <= 32 ? uint64_t{hints32(text)} : hints64(text)) & ~uint64_t{0} >> (64 - size);
    }

    // Whether there is a question left to ask about text of up to 64 bytes that was written; its last byte may be a place too.
    bool is_anything_left(uint8_t* start, size_t size, uint64_t hints, uint32_t mask) {
        const uint32_t asks = asks_for(mask & ~uint32_t{kWrapperNonce});
        start[-1] = start[size] = 0;
        bool left = false;
        for (hints |= uint64_t{1} << (size - 1); hints != 0 && !left; hints &= hints - 1) {
            const uint8_t* const at = start + __builtin_ctzll(hints);
            left = (is_digit(*at) ? asks_of_number(at, asks) : asks_of_mark(at, asks)) != 0;
        }
        start[-1] = start[size] = '"';
        return left;
    }

    [[gnu::noinline]] Cursor masked_string(const uint8_t* input, uint8_t* start, Cursor at, uint32_t mask, bool escaped, Key key) {
        size_t size = static_cast<size_t>(at.out - start) - 1;
        if ((mask & kWrapperNonce) && size >= WrapperNonce::kShortestPair && has_marker(start, at.out)) {
            nonces(input, start, size, at.in);
        }
        mask &= ~static_cast<uint32_t>(kWrapperNonce);
        if (mask == 0 || size == 0) return at;
        const uint32_t kinds = key_kinds(key.text, key.size, arena_.key_cache);
        if (kinds & kCursorKey) return at;
        arena_.edits.clear();
        arena_.cuts.clear();
        arena_.cells.clear();
        // The quotes round the text become the zeros that questions stop at.
        start[-1] = start[size] = 0;
        const uint8_t* text = start;
        size_t text_size = size;
        if (escaped) {
            arena_.prepared.reserve(size + kSlack);
            text = arena_.prepared.data();
            text_size = prepare_text(start, start + size, arena_.prepared.data(), (mask & kAnsi) != 0, arena_);
            if (text_size == kReplay) {
                size = replay(start, size);
                at.out = start + size + 1;
                text_size = prepare_text(start, start + size, arena_.prepared.data(), false, arena_);
            }
            arena_.prepared.data()[text_size] = 0;
        }
        TextMasks masks(text, text_size, mask, arena_.edits, arena_.uuids, arena_.ids);
        if (whole(text, text_size, mask, masks, is_text(key), kinds) == 0) scan_text(text, text_size, masks, asks_for(mask));
        start[-1] = start[size] = '"';
        const bool cleaned = !arena_.cuts.empty() || !arena_.cells.empty();
        if (cleaned) arena_.kinds_masked |= kAnsi;
        if (arena_.trace && (cleaned || !arena_.edits.empty())) trace_edits(input, at.in - 1);
        if (arena_.cuts.empty() && arena_.edits.empty()) return at;
        arena_.canonical.reserve(size + kSlack);
        std::memcpy(arena_.canonical.data(), start, size);
        // One more, so that none has to be asked whether it is the last.
        arena_.cuts.put(kNowhere, kNowhere, kNowhere);
        const size_t growth = arena_.edits.size() * kLongestPlaceholder;
        start = arena_.make_room(start, size + growth + static_cast<size_t>(end_ - at.in) + kSlack);
        at.out = rewrite(arena_.canonical.data(), size, start);
        return at;
    }

    uint32_t asks_for(uint32_t mask) {
        if (__builtin_expect(mask != arena_.asked_mask, 0)) {
            arena_.asked_mask = mask;
            arena_.asks = asks_of(mask);
        }
        return arena_.asks;
    }

    static bool is_text(Key key) { return key.size == 4 && std::memcmp(key.text, "text", 4) == 0; }

    // Leaves of canonical text what a screen would show; returns the size.
    [[gnu::noinline]] size_t replay(uint8_t* start, size_t size) {
        arena_.cuts.clear();
        Screen().play(start, start + size, arena_.cells);
        arena_.canonical.reserve(size + kSlack);
        std::memcpy(arena_.canonical.data(), start, size);
        uint8_t* out = start;
        for (const Cell& cell : arena_.cells) {
            std::memcpy(out, arena_.canonical.data() + cell.start, cell.size);
            out += cell.size;
        }
        start[out - start] = 0;
        // Nothing left is a result too.
        arena_.cells.push_back({size, 0});
        if (arena_.trace) canonical_size_ = size;
        return static_cast<size_t>(out - start);
    }

    [[gnu::noinline]] Cursor keyed_number(const uint8_t* input, uint8_t* start, Cursor at, uint32_t kinds, uint32_t mask) {
        const size_t size = static_cast<size_t>(at.out - start);
        const bool negative = *start == '-';
        arena_.edits.clear();
        *at.out = 0;
        TextMasks masks(start, size, mask, arena_.edits, arena_.uuids, arena_.ids);
        const uint32_t kind = negative ? 0 : value_kind(start, size, kinds, mask, masks);
        if (kind == 0) return at;
        arena_.kinds_masked |= kind;
        const uint32_t number = kind == kTechnicalId ? arena_.ids.number(start, size, false) : 0;
        if (arena_.trace) note(kind, input, at.in);
        start = arena_.make_room(start, kLongestPlaceholder + static_cast<size_t>(end_ - at.in) + kSlack);
        uint8_t* out = start;
        *out++ = '"';
        out = put_placeholder(out, kind, number);
        *out++ = '"';
        return {at.in, out};
    }

    // Whether text has a wrapper marker's beginning, a block at a time: nearly none has.
    static bool has_marker(const uint8_t* text, const uint8_t* end) {
        for (; text < end; text += Block::kSize) {
            const uint32_t found =
                Block::load(text + 2).equal('<') & Block::load(text + 3).equal('E');
            if (found != 0) return true;
        }
        return false;
    }

    bool nonces(const uint8_t* input, uint8_t* start, size_t size, const uint8_t* end) {
        nonce_places_.clear();
        const bool changed = WrapperNonce::neutralise(start, size, arena_.trace ? &nonce_places_ : nullptr);
        if (changed) arena_.kinds_masked |= kWrapperNonce;
        if (changed && arena_.trace) {
            trace_canonical(input, end - 1, canonical_origins_);
            for (const size_t place : nonce_places_) {
                note(kWrapperNonce, input + canonical_origins_[place],
                     input + canonical_origins_[place + WrapperNonce::kIdSize]);
            }
        }
        return changed;
    }

    // The kind that the key says the whole string is; its edit is made.
    uint32_t whole(const uint8_t* text, size_t size, uint32_t mask, const TextMasks& masks, bool beside, uint32_t kinds) {
        if (beside) {
            for (size_t i = 0; i < size && !arena_.text_seen; ++i) arena_.text_seen = text[i] > ' ';
            return 0;
        }
        const uint32_t kind = value_kind(text, size, kinds, mask, masks);
        if (kind == 0) return 0;
        uint32_t number = 0;
        if (kind == kTechnicalId) number = arena_.ids.number(text, size, false);
        if (kind == kBinary) {
            number = size_class(size);
            arena_.binary_masked = true;
        }
        arena_.edits.put(0, size, kind, number, false);
        return kind;
    }

    // Writes canonical text anew without the edits and cuts, which are both in the order of the text.
    uint8_t* rewrite(const uint8_t* text, size_t size, uint8_t* out) {
        size_t done = 0;  // places in canonical text; those of edits are `shift` before them
        size_t shift = 0;
        const auto keep = [&](size_t end) {
            if (end > done) out = copy(text + done, end - done, out);
        };
        const Cut* cut = arena_.cuts.begin();
        const auto leave_out = [&] {
            keep(cut->start);
            done = std::max(done, cut->end);
            shift += cut->end - cut->start;
            ++cut;
        };
        uint32_t kinds = 0;
        for (const Edit& edit : arena_.edits) {
            while (cut->place <= edit.start) leave_out();
            keep(edit.start + shift);
            for (; cut->place < edit.end; ++cut) shift += cut->end - cut->start;
            done = edit.end + shift;
            kinds |= edit.kind;
            *out = ' ';
            out += edit.blank;
            out = put_placeholder(out, edit.kind, edit.number);
        }
        arena_.kinds_masked |= kinds;
        while (cut->place != kNowhere) leave_out();
        keep(size);
        *out++ = '"';
        return out;
    }
    static constexpr size_t kNowhere = ~size_t{0};

    // Writes up to kStep bytes more: how long a piece is can't be foreseen, so that few steps are better than few bytes.
    static uint8_t* copy(const uint8_t* from, size_t size, uint8_t* out) {
        size_t copied = 0;
        do {
            for (size_t i = 0; i < kStep; i += Block::kSize) Block::load(from + copied + i).store(out + copied + i);
            copied += kStep;
        } while (__builtin_expect(copied < size, 0));
        return out + size;
    }
    static constexpr size_t kStep = 96;

    void note(uint32_t kind, const uint8_t* start, const uint8_t* end) {
        arena_.note(kind, static_cast<size_t>(start - document_), static_cast<size_t>(end - document_));
    }

    // Tells where in the input the edits and cuts are; [input, end) is the string's text.
    [[gnu::noinline]] void trace_edits(const uint8_t* input, const uint8_t* end) {
        trace_canonical(input, end, canonical_origins_);
        const auto tell = [&](uint32_t kind, size_t from, size_t to) {
            note(kind, input + canonical_origins_[from], input + canonical_origins_[to]);
        };
        if (!arena_.cells.empty()) {
            // What was overwritten; then where each byte that is left stood.
            std::vector<size_t> origins;
            std::vector<bool> kept(canonical_size_ + 1);
            for (const Cell& cell : arena_.cells) {
                for (size_t i = 0; i < cell.size; ++i) {
                    kept[cell.start + i] = true;
                    origins.push_back(canonical_origins_[cell.start + i]);
                }
            }
            kept[canonical_size_] = true;
            origins.push_back(canonical_origins_[canonical_size_]);
            for (size_t from = 0; from < canonical_size_; ++from) {
                if (kept[from]) continue;
                size_t to = from;
                while (!kept[to]) ++to;
                tell(kAnsi, from, to);
                from = to;
            }
            canonical_origins_ = origins;
        }
        size_t shift = 0;
        const Cut* cut = arena_.cuts.begin();
        const Cut* const last_cut = cut + arena_.cuts.size();
        for (const Cut& one : arena_.cuts) tell(kAnsi, one.start, one.end);
        for (const Edit& edit : arena_.edits) {
            for (; cut != last_cut && cut->place <= edit.start; ++cut) shift += cut->end - cut->start;
            const size_t from = edit.start + shift;
            for (; cut != last_cut && cut->place < edit.end; ++cut) shift += cut->end - cut->start;
            const size_t first = canonical_origins_[from];
            // Text that was written over stands in the input where it was written: an end may come before its beginning.
            note(edit.kind, input + first, input + std::max(first, canonical_origins_[edit.end + shift]));
        }
    }

    Arena& arena_;
    const uint8_t* const document_;
    const uint8_t* const end_;
    const uint8_t* const readable_;
    std::vector<size_t> nonce_places_;
    std::vector<size_t> canonical_origins_;
    size_t canonical_size_ = 0;  // of the text that a screen has replayed
};

}  // namespace loopguard::LOOPGUARD_TARGET
