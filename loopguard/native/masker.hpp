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

    Masker(Arena& arena, const uint8_t* document, const uint8_t* end) : arena_(arena), document_(document), end_(end) {}

    // The string stands in the input from `input` on and in the output from `start` on, both without the opening quote. Returns
    // the cursor behind it.
    [[gnu::noinline]] Cursor string(const uint8_t* input, uint8_t* start, Cursor at, uint32_t mask, bool escaped, Key key) {
        const size_t size = static_cast<size_t>(at.out - start) - 1;
        if ((mask & kWrapperNonce) && size >= WrapperNonce::kShortestPair && has_marker(start, at.out)) {
            nonces(input, start, size, at.in);
        }
        mask &= ~static_cast<uint32_t>(kWrapperNonce);
        if (mask == 0 || size == 0) return at;
        const uint8_t* text = start;
        size_t text_size = size;
        bool cleaned = false;
        if (escaped) {
            arena_.decoded.reserve(size + kSlack);
            text_size = decode_for_masks(start, start + size, arena_.decoded.data(), (mask & kAnsi) != 0, cleaned);
            text = arena_.decoded.data();
            std::memset(arena_.decoded.data() + text_size, 0, 2);
        }
        arena_.edits.clear();
        TextMasks masks(text, text_size, mask, arena_.edits, arena_.uuids, arena_.ids);
        const uint32_t kind = whole(text, text_size, mask, masks, key);
        if (kind == 0) scan_text(text, text_size, masks);
        if (!cleaned && arena_.edits.empty()) return at;
        if (cleaned) arena_.kinds_masked |= kAnsi;
        for (const Edit& edit : arena_.edits) arena_.kinds_masked |= edit.kind;
        if (arena_.trace) trace_edits(input, at.in - 1, start, size, (mask & kAnsi) != 0);
        if (!escaped) {
            arena_.decoded.reserve(size + kSlack);
            std::memcpy(arena_.decoded.data(), start, size);
            arena_.decoded.data()[size] = 0;
            text = arena_.decoded.data();
        }
        const size_t growth = arena_.edits.size() * kLongestPlaceholder;
        start = arena_.make_room(start, size + growth + static_cast<size_t>(end_ - at.in) + kSlack);
        at.out = rewrite(text, text_size, start);
        return at;
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
    [[gnu::noinline]] Cursor keyed_number(const uint8_t* input, uint8_t* start, Cursor at, uint32_t kinds, uint32_t mask) {
        const size_t size = static_cast<size_t>(at.out - start);
        const bool negative = *start == '-';
        arena_.edits.clear();
        TextMasks masks(start, size, mask, arena_.edits, arena_.uuids, arena_.ids);
        const uint32_t kind = negative ? 0 : value_kind(start, size, kinds, mask, masks);
        if (kind == 0) return at;
        arena_.kinds_masked |= kind;
        const uint32_t number = kind == kTechnicalId ? arena_.ids.number(start, size, false) : 0;
        if (arena_.trace) note(kind, input, at.in);
        start = arena_.make_room(start, kLongestPlaceholder + static_cast<size_t>(end_ - at.in) + kSlack);
        uint8_t* out = start;
        *out++ = '"';
        out = put_placeholder(out, placeholder_of(kind), number);
        *out++ = '"';
        return {at.in, out};
    }

    // Whether text has a wrapper marker's beginning, a block at a time: nearly none has.
    static bool has_marker(const uint8_t* text, const uint8_t* end) {
        for (; text < end; text += Block::kSize) {
            const uint32_t found =
                Block::load(text).equal('<') & Block::load(text + 2).equal('<') & Block::load(text + 3).equal('E');
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
    uint32_t whole(const uint8_t* text, size_t size, uint32_t mask, const TextMasks& masks, Key key) {
        if (key.size == 4 && std::memcmp(key.text, "text", 4) == 0) {
            for (size_t i = 0; i < size && !arena_.text_seen; ++i) arena_.text_seen = text[i] > ' ';
            return 0;
        }
        const uint32_t kind = value_kind(text, size, key_kinds(key.text, key.size, arena_.key_cache), mask, masks);
        if (kind == 0) return 0;
        uint32_t number = 0;
        if (kind == kTechnicalId) number = arena_.ids.number(text, size, false);
        if (kind == kBinary) {
            number = size_class(size);
            arena_.binary_masked = true;
        }
        arena_.edits.push_back({0, size, kind, number, placeholder_of(kind), false});
        return kind;
    }

    uint8_t* rewrite(const uint8_t* text, size_t size, uint8_t* out) const {
        size_t done = 0;
        for (const Edit& edit : arena_.edits) {
            out = encode_text(text + done, text + edit.start, out);
            if (edit.blank) *out++ = ' ';
            if (edit.placeholder != nullptr) out = put_placeholder(out, edit.placeholder, edit.number);
            done = edit.end;
        }
        out = encode_text(text + done, text + size, out);
        *out++ = '"';
        return out;
    }

    void note(uint32_t kind, const uint8_t* start, const uint8_t* end) {
        arena_.spans_masked.push_back(
            {static_cast<size_t>(start - document_), static_cast<size_t>(end - document_), kind, 0, nullptr, false});
    }

    // Tells where in the input the edits are; `[input, end)` and `start` are the string's text.
    [[gnu::noinline]] void trace_edits(const uint8_t* input, const uint8_t* end, const uint8_t* start, size_t size, bool clean) {
        cut_.clear();
        std::string decoded(size + 8, '\0');
        trace_canonical(input, end, canonical_origins_);
        trace_decoded(start, start + size, reinterpret_cast<uint8_t*>(&decoded[0]), clean, decoded_origins_, cut_);
        for (const Edit& edit : cut_) note(edit.kind, input + canonical_origins_[edit.start], input + canonical_origins_[edit.end]);
        for (const Edit& edit : arena_.edits) {
            note(edit.kind, input + canonical_origins_[decoded_origins_[edit.start]],
                 input + canonical_origins_[decoded_origins_[edit.end]]);
        }
    }

    Arena& arena_;
    const uint8_t* const document_;
    const uint8_t* const end_;
    std::vector<size_t> nonce_places_;
    std::vector<size_t> canonical_origins_;
    std::vector<size_t> decoded_origins_;
    std::vector<Edit> cut_;
};

}  // namespace loopguard::LOOPGUARD_TARGET
