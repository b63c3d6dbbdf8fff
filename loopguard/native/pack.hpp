// Values one after another as bytes, and back: what snapshots are written with. No tags: who reads knows what was written.
//
// Marks, words and what else comes again stand once; after that a place in a table says which, as the distance from where
// the last one of its lane pointed, since things come again in the order in which they came. A reader believes nothing:
// any bytes end in values or in `std::invalid_argument`. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "index.hpp"

namespace loopguard::pack {

// A mark is a hash that tells things of one run apart: so many bytes of it.
constexpr std::size_t MARK_SIZE = 5;
constexpr std::uint64_t MARKS = (std::uint64_t{1} << 8 * MARK_SIZE) - 1;
constexpr std::size_t WORD_SIZE = 4;
// Short, so that a few bytes never stand for much.
constexpr std::size_t LONGEST_SHARED = 63;

// What points into one table at its own pace.
enum Lane : std::uint8_t { CALL, NAME, TOOL, SAME, NEAR, TARGET, PROGRAM, FAMILY, OUTCOME, RAW, DIGITLESS, SIGNATURE, ROUND_NEAR, ROUND_SAME, ROUND_OUTCOME, TREND, OTHER, WORD, LANES };

// Numbers near zero, of either sign, are small then.
constexpr std::uint64_t fold(std::int64_t value) noexcept { return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63); }
constexpr std::uint64_t unfold(std::uint64_t value) noexcept { return value >> 1 ^ (0 - (value & 1)); }

// What stands for a thing: it follows here, it is none, or how far away it is.
enum Reference : std::uint64_t { ANEW, NONE, KNOWN };

// Where the next reference of each lane is expected to point.
class Lanes {
public:
    std::uint64_t away(Lane lane, std::uint64_t place) noexcept {
        const std::uint64_t distance = fold(static_cast<std::int64_t>(place - next_[lane]));
        follow(lane, place);
        return distance;
    }

    std::uint64_t place(Lane lane, std::uint64_t away) noexcept {
        const std::uint64_t place = next_[lane] + unfold(away);
        follow(lane, place);
        return place;
    }

    void follow(Lane lane, std::uint64_t place) noexcept { next_[lane] = place + 1; }

private:
    std::uint64_t next_[LANES] = {};
};

// Bytes that grow, to be written into directly.
class Buffer {
public:
    const char* data() const noexcept { return data_.get(); }
    std::size_t size() const noexcept { return size_; }

    // Room for so many bytes more; `fill` says up to where it was used.
    char* room(std::size_t size) {
        if (room_ - size_ < size) grow(size);
        return data_.get() + size_;
    }

    void fill(const char* end) noexcept { size_ = static_cast<std::size_t>(end - data_.get()); }

private:
    static constexpr std::size_t LEAST = 1024;

    void grow(std::size_t size) {
        room_ = std::max({LEAST, 2 * room_, size_ + size});
        std::unique_ptr<char[]> more(new char[room_]);
        if (size_ != 0) std::memcpy(more.get(), data_.get(), size_);
        data_ = std::move(more);
    }

    std::unique_ptr<char[]> data_;
    std::size_t size_ = 0, room_ = 0;
};

class Writer {
public:
    const Buffer& written() const noexcept { return out_; }

    void number(std::uint64_t value) {
        char* at = out_.room(LONGEST_NUMBER);
        for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
        *at++ = static_cast<char>(value);
        out_.fill(at);
    }

    // How far two numbers are apart.
    void distance(std::uint64_t from, std::uint64_t to) { number(fold(static_cast<std::int64_t>(to - from))); }

    void flag(bool value) { number(value ? 1 : 0); }

    void raw(const void* from, std::size_t size) {
        char* at = out_.room(size);
        if (size != 0) std::memcpy(at, from, size);
        out_.fill(at + size);
    }

    void bytes(const void* from, std::size_t size) {
        number(size);
        raw(from, size);
    }

    // A text, which often begins like the one before it.
    void text(const char* from, std::size_t size) {
        const std::size_t most = std::min({size, last_.size(), LONGEST_SHARED});
        std::size_t shared = 0;
        while (shared < most && from[shared] == last_[shared]) ++shared;
        number(shared);
        bytes(from + shared, size - shared);
        last_.assign(from, size);
    }

    // A thing is known by where it is, so it has to stay there. Returns whether it has to be written here.
    bool thing(const void* which) { return stands_here(things_, CALL, reinterpret_cast<std::uintptr_t>(which)); }

    // Returns the place that a name has by its hash: among those that came, or next to the last of them.
    std::uint32_t place_of(std::uint64_t hash) { return names_.meet(hash).first; }

    // Says that a thing of some table is the known one at that place, or else follows here.
    void refer(Lane lane, std::uint64_t place, bool known) {
        if (known) {
            number(lanes_.away(lane, place) + KNOWN);
        } else {
            number(ANEW);
            lanes_.follow(lane, place);
        }
    }

    // A hash that may come again; 0 is none.
    void mark(Lane lane, std::uint64_t value) {
        if (value == 0) number(NONE);
        else if (stands_here(marks_, lane, value)) lone(value);
    }

    void word(std::uint32_t value) {
        if (stands_here(words_, WORD, value)) little(value, WORD_SIZE);
    }

    // A hash that comes once.
    void lone(std::uint64_t value) { little(value, MARK_SIZE); }

private:
    static constexpr std::size_t LONGEST_NUMBER = 10;

    bool stands_here(Table& table, Lane lane, std::uint64_t value) {
        const auto [place, known] = table.meet(value);
        refer(lane, place, known);
        return !known;
    }

    void little(std::uint64_t value, std::size_t size) {
        char* at = out_.room(sizeof value);
        for (std::size_t i = 0; i < sizeof value; ++i) at[i] = static_cast<char>(value >> 8 * i);
        out_.fill(at + size);
    }

    Buffer out_;
    std::string last_;
    Lanes lanes_;
    Table marks_{256}, words_{128}, names_{64}, things_{32};
};

class Reader {
public:
    Reader() = default;
    Reader(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

    std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

    void need(std::uint64_t size) const {
        if (size > left()) throw std::invalid_argument(std::to_string(size) + " bytes where " + std::to_string(left()) + " are left");
    }

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            need(1);
            const std::uint8_t byte = *at_++;
            if (shift == 63 && byte > 1) break;
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        throw std::invalid_argument("a number of more than 64 bits");
    }

    std::uint64_t small(std::uint64_t limit) {
        return at_most(limit, number());
    }

    // A number from how far it is from another one; at most `limit`.
    std::uint64_t distance(std::uint64_t from, std::uint64_t limit) {
        return at_most(limit, from + unfold(number()));
    }

    // How many things follow, each of at least so many bytes.
    std::uint64_t count(std::size_t size = 1) {
        const std::uint64_t count = number();
        if (count > left() / size) throw std::invalid_argument(std::to_string(count) + " things where " + std::to_string(left()) + " bytes are left");
        return count;
    }

    bool flag() {
        need(1);
        if (*at_ > 1) throw std::invalid_argument(std::to_string(*at_) + " is no truth value");
        return *at_++ == 1;
    }

    const std::uint8_t* raw(std::uint64_t size) {
        need(size);
        at_ += size;
        return at_ - size;
    }

    // The text is there until the next one is read.
    const std::string& text() {
        const std::size_t shared = small(std::min(last_.size(), LONGEST_SHARED));
        const std::size_t size = count();
        last_.resize(shared);
        last_.append(reinterpret_cast<const char*>(raw(size)), size);
        return last_;
    }

    // Returns whether a thing stands at a place of its table, which is looked up, or else follows here.
    bool again(Lane lane, std::uint64_t known, std::uint64_t& place) {
        const std::uint64_t reference = number();
        if (reference != NONE) return follow(lane, reference, known, place);
        throw std::invalid_argument("nothing where a thing must be");
    }

    std::uint64_t mark(Lane lane) {
        const std::uint64_t reference = number();
        return reference == NONE ? 0 : once(marks_, lane, reference, MARK_SIZE);
    }

    std::uint32_t word() { return static_cast<std::uint32_t>(once(words_, WORD, number(), WORD_SIZE)); }

    std::uint64_t lone() { return little(MARK_SIZE); }

private:
    bool follow(Lane lane, std::uint64_t reference, std::uint64_t known, std::uint64_t& place) {
        if (reference == ANEW) {
            lanes_.follow(lane, known);
            return false;
        }
        place = lanes_.place(lane, reference - KNOWN);
        if (place >= known) throw std::invalid_argument("thing " + std::to_string(place) + " of " + std::to_string(known));
        return true;
    }

    std::uint64_t once(std::vector<std::uint64_t>& table, Lane lane, std::uint64_t reference, std::size_t size) {
        std::uint64_t place = 0;
        if (follow(lane, reference, table.size(), place)) return table[place];
        table.push_back(little(size));
        return table.back();
    }

    std::uint64_t little(std::size_t size) {
        const std::uint8_t* bytes = raw(size);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(bytes[i]) << 8 * i;
        return value;
    }

    static std::uint64_t at_most(std::uint64_t limit, std::uint64_t value) {
        if (value > limit) throw std::invalid_argument(std::to_string(value) + " where at most " + std::to_string(limit) + " can be");
        return value;
    }

    const std::uint8_t* at_ = nullptr;
    const std::uint8_t* end_ = nullptr;
    std::string last_;
    Lanes lanes_;
    std::vector<std::uint64_t> marks_, words_;
};

}  // namespace loopguard::pack
