// The entries to the inner loops. Read once per instruction set with LOOPGUARD_TARGET as the namespace, hence no guard.

#include "block.hpp"
#include "mask_scan.hpp"
#include "masker.hpp"
#include "string.hpp"
#include "writer.hpp"

namespace loopguard::LOOPGUARD_TARGET {

// A document as the writer wants it: small ones behind zeros.
struct Input {
    const uint8_t* start;
    const uint8_t* end;
    const uint8_t* limit;

    Input(Arena& arena, const uint8_t* data, size_t size) : start(data), end(data + size), limit(data + size) {
        if (size > kPaddedSize) return;
        arena.input.reserve(kPaddedSize + kSlack);
        uint8_t* const copy = arena.input.data();
        if (size != 0) std::memcpy(copy, data, size);
        std::memset(copy + size, 0, kSlack / 2);
        start = copy;
        end = copy + size;
        limit = end + kDecimalRead;
    }
};

// Writes one document at `offset` of the arena's output; false if it is not JSON, and then nothing counts.
template <bool kMasked>
[[gnu::always_inline]] inline bool write_document(Arena& arena, const uint8_t* data, size_t size, size_t offset, uint32_t mask, const Rules* rules,
                    bool spans, uint32_t never_mask = 0) {
    const Input input(arena, data, size);
    const uint32_t outer_flags = arena.flags;
    // Only numbers grow on the way; they ask for room themselves.
    uint8_t* const start = arena.make_room(arena.output.data() + offset, size + kSlack);
    Writer<kMasked> writer(arena, input.start, input.end, input.limit, mask, rules);
    writer.never_mask(never_mask);
    if (spans) writer.leave_outer_members_in_place();
    if (offset == 0) writer.write_alone();
    const Cursor at = writer.document(writer.skip_space(input.start), start);
    if (at.in == nullptr || writer.skip_space(at.in) != input.end) return false;
    arena.flags = outer_flags | writer.flags();
    arena.text = arena.output.data() + offset;
    arena.spans = writer.outer_members() != 0;
    if (arena.spans) {
        arena.size = 1;
        for (const Member& member : arena.members) arena.size += member.size + 1;
    } else {
        arena.size = static_cast<size_t>(at.out - arena.text);
    }
    return true;
}

inline bool write(Arena& arena, const uint8_t* data, size_t size, size_t offset, uint32_t mask, const Rules* rules,
                  bool spans) {
    if (mask == 0 && (rules == nullptr || rules->masks() == 0)) {
        return write_document<false>(arena, data, size, offset, mask, rules, spans);
    }
    arena.masked = true;
    if (!write_document<true>(arena, data, size, offset, mask, rules, spans)) return false;
    if (!arena.binary_masked || arena.text_seen) return true;
    // With no text beside it, a payload is all there is to compare.
    arena.binary_masked = false;
    arena.spans_masked.clear();
    arena.members.shrink(0);
    return write_document<true>(arena, data, size, offset, mask, rules, spans, kBinary);
}

// The end of a value that was refused, if it is one because of its depth alone; its brackets are counted, no more, since
// whoever reads it will refuse it again. `nullptr` for any other reason.
inline const uint8_t* behind_deep_value(const uint8_t* in, const uint8_t* end) noexcept {
    size_t depth = 0;
    bool deep = false;
    for (; in < end; ++in) {
        if (*in == '"') {
            for (++in; in < end && *in != '"'; ++in) in += *in == '\\';
        } else if (*in == '{' || *in == '[') {
            deep |= ++depth > kMaxDepth;
        } else if (*in == '}' || *in == ']') {
            if (depth == 0 || --depth == 0) return deep ? in + 1 : nullptr;
        }
        if (depth == 0) return nullptr;
    }
    return nullptr;
}

// Lists the members of an object or the items of an array: where each value lies in the input, its key as canonical text
// with quotes in the arena's output. Only a value's own containers count against its depth, and too many of them are for
// those to refuse who read it. False for a scalar or what is not JSON.
inline bool list_members(Arena& arena, const uint8_t* data, size_t size) {
    const Input input(arena, data, size);
    uint8_t* out = arena.make_room(arena.output.data(), size + kSlack);
    Writer<false> writer(arena, input.start, input.end, input.limit, 0, nullptr);
    const uint8_t* in = writer.skip_space(input.start);
    if (in == input.end || (*in != '{' && *in != '[')) return false;
    const bool object = *in == '{';
    const uint8_t close = object ? '}' : ']';
    in = writer.skip_space(in + 1);
    if (in < input.end && *in == close) return writer.skip_space(in + 1) == input.end;
    for (;;) {
        Listed item{};
        Cursor at{in, out};
        item.key_offset = static_cast<size_t>(out - arena.output.data());
        if (object) {
            if (in == input.end || *in != '"') return false;
            at = writer.string(in, out);
            if (at.in == nullptr) return false;
            in = writer.skip_space(at.in);
            if (in == input.end || *in != ':') return false;
            item.key_size = static_cast<size_t>(at.out - out);
            in = writer.skip_space(in + 1);
        }
        item.start = static_cast<size_t>(in - input.start);
        const size_t key_end = static_cast<size_t>(at.out - arena.output.data());
        const uint8_t* const value = in;
        at = writer.value(in, at.out, 0);
        in = at.in != nullptr ? at.in : behind_deep_value(value, input.end);
        if (in == nullptr) return false;
        item.end = static_cast<size_t>(in - input.start);
        arena.list(item);
        // The value was read only to find its end.
        out = arena.output.data() + key_end;
        in = writer.skip_space(in);
        if (in == input.end) return false;
        const uint8_t c = *in;
        in = writer.skip_space(in + 1);
        if (c == close) return in == input.end;
        if (c != ',') return false;
    }
}

}  // namespace loopguard::LOOPGUARD_TARGET
