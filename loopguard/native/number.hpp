// Number tokens: integers keep their digits, everything else is an IEEE double in ECMAScript's layout.
#pragma once

#include <array>
#include <charconv>

#include "double.hpp"
#include "text.hpp"

namespace loopguard {

// The longest text that a token which is not copied can become: "-0.0000012345678901234567", "-100000000000000000000".
constexpr size_t kNumberSize = 32;

// A token taken apart; the value is the digits of `whole` and `fraction` in a row, times ten to the power of
// (exponent - fraction_size).
struct NumberToken {
    const uint8_t* start;
    const uint8_t* end;
    const uint8_t* whole;
    const uint8_t* fraction;
    size_t whole_size;
    size_t fraction_size;
    bool negative;
    bool has_exponent;
    uint64_t digits;  // whole and fraction in a row; right if they are at most 19
};

// Eight characters as a little-endian word.
inline uint64_t load_eight(const uint8_t* in) {
    uint64_t word;
    std::memcpy(&word, in, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

// How many of the eight characters are digits before the first that is none. Sums of others spill into the characters behind
// them only, which do not count any more.
inline unsigned leading_digits(uint64_t word) {
    const uint64_t values = word ^ 0x3030303030303030u;
    const uint64_t others = ((values + 0x7676767676767676u) | values) & 0x8080808080808080u;
    return others == 0 ? 8 : static_cast<unsigned>(__builtin_ctzll(others)) / 8;
}

// The value of the first `count` of the eight: moved to the end, zeros before them; then neighbours are joined to
// pairs, pairs to fours, fours to eight.
inline uint64_t value_of_digits(uint64_t word, unsigned count) {
    word = (word ^ 0x3030303030303030u) << (32 - 4 * count) << (32 - 4 * count);
    word = word * 10 + (word >> 8);
    const uint64_t mask = 0x000000FF000000FFu;
    return (((word & mask) * 0x000F424000000064u) + (((word >> 16) & mask) * 0x0000271000000001u)) >> 32;
}

inline const uint8_t* skip_digits(const uint8_t* in, const uint8_t* end) {
    while (end - in >= 8) {
        const unsigned count = leading_digits(load_eight(in));
        in += count;
        if (count < 8) return in;
    }
    while (in < end && is_digit(*in)) ++in;
    return in;
}

constexpr uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
                              100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
                              10000000000000000, 100000000000000000, 1000000000000000000, 10000000000000000000u};

// Behind a run of digits, whose value is put behind that of `value`; wraps where they are too many. How many there are is
// nothing that branches depend on, since it can't be foreseen.
inline const uint8_t* read_digits(const uint8_t* in, const uint8_t* end, uint64_t& value) {
    while (end - in >= 8) {
        const uint64_t word = load_eight(in);
        const unsigned count = leading_digits(word);
        if (count == 0) return in;
        value = value * kTens[count] + value_of_digits(word, count);
        in += count;
        if (count < 8) return in;
    }
    for (; in < end && is_digit(*in); ++in) value = value * 10 + (*in - '0');
    return in;
}

// How much may be read at the first digit of a decimal that is looked at in one step.
constexpr size_t kDecimalRead = 32;

// The `count` digits of a decimal, 16 or more, `whole` of them before its point, 1 to 16. False where they are too many for
// 64 bits. How many are before the point is nothing that branches depend on, since it can't be foreseen.
inline bool read_decimal(const uint8_t* in, unsigned whole, unsigned count, uint64_t& value) {
    static constexpr std::array<uint8_t, 32> kBefore = [] {
        std::array<uint8_t, 32> mask{};
        for (size_t i = 0; i < 16; ++i) mask[i] = 0xFF;
        return mask;
    }();
    const auto eight = [&](unsigned at) {
        const uint64_t before = load_eight(kBefore.data() + 16 - whole + at);
        const uint64_t behind = load_eight(in + at + 1);
        return value_of_digits(((load_eight(in + at) ^ behind) & before) ^ behind, 8);
    };
    const unsigned rest = count - 16;
    if (rest > 8) return false;
    const uint64_t first = eight(0) * kTens[8] + eight(8);
    value = first * kTens[rest] + value_of_digits(load_eight(in + 17), rest);
    return first < kTens[19 - rest];
}

// Whether the decimal of `size` characters, its point behind `whole` of them, is in canonical form. False where it takes a
// closer look to say. At `in` kDecimalRead characters may be read.
[[gnu::noinline]] inline bool is_canonical_decimal(const uint8_t* in, unsigned whole, unsigned size) {
    const bool below_one = *in == '0';
    const unsigned last = in[size - 1] - unsigned{'0'};
    const bool tiny = load_eight(in) == 0x3030303030302E30u;  // 0.000000: in canonical form it has an exponent
    if (whole - 1 > (below_one ? 0u : 15u) || last - 1 > 8 || (in[size] | 0x20) == 'e' || tiny) return false;
    // Up to 15 digits survive the way through a double.
    if (size <= 16u + below_one) return true;
    uint64_t digits;
    const int exponent = static_cast<int>(whole) + 1 - static_cast<int>(size);
    return read_decimal(in, whole, size - 1, digits) && is_shortest(digits, last, exponent);
}

// Up to 24 bytes in words that may overlap: a call of memcpy costs more.
inline uint8_t* put_short(uint8_t* out, const uint8_t* from, size_t size) {
    if (size < 8 || size > 24) {
        std::memcpy(out, from, size);
        return out + size;
    }
    std::memcpy(out, from, 8);
    if (size > 16) std::memcpy(out + 8, from + 8, 8);
    std::memcpy(out + size - 8, from + size - 8, 8);
    return out + size;
}

// Reads a token at `in` by JSON's grammar; false if there is none.
inline bool read_number(const uint8_t* in, const uint8_t* end, NumberToken& token) {
    token.start = in;
    token.negative = in < end && *in == '-';
    if (token.negative) ++in;
    token.whole = in;
    token.digits = 0;
    in = read_digits(in, end, token.digits);
    token.whole_size = static_cast<size_t>(in - token.whole);
    if (token.whole_size == 0 || (token.whole_size > 1 && *token.whole == '0')) return false;
    token.fraction = in;
    token.fraction_size = 0;
    if (in < end && *in == '.') {
        token.fraction = ++in;
        in = read_digits(in, end, token.digits);
        token.fraction_size = static_cast<size_t>(in - token.fraction);
        if (token.fraction_size == 0) return false;
    }
    token.has_exponent = in < end && (*in | 0x20) == 'e';
    if (token.has_exponent) {
        ++in;
        if (in < end && (*in == '+' || *in == '-')) ++in;
        const uint8_t* const digits = in;
        in = skip_digits(in, end);
        if (in == digits) return false;
    }
    token.end = in;
    return true;
}

// ECMAScript's Number::toString for digits d1 d2 … dn with the decimal point behind the first `point` of them (which may be
// negative or beyond the last). Takes and writes whole blocks: both have kNumberSize bytes.
inline uint8_t* put_number_layout(uint8_t* out, const char* digits, int count, int point) {
    constexpr size_t kBlock = 24;
    const auto zeros = [&out](int n) {
        std::memset(out, '0', kBlock);
        out += n;
    };
    const auto copy = [&out](const char* from, int n) {
        std::memcpy(out, from, kBlock);
        out += n;
    };
    if (count <= point && point <= 21) {
        copy(digits, count);
        zeros(point - count);
    } else if (0 < point && point <= 21) {
        copy(digits, point);
        *out++ = '.';
        copy(digits + point, count - point);
    } else if (-6 < point && point <= 0) {
        *out++ = '0';
        *out++ = '.';
        zeros(-point);
        copy(digits, count);
    } else {
        *out++ = static_cast<uint8_t>(digits[0]);
        if (count > 1) {
            *out++ = '.';
            copy(digits + 1, count - 1);
        }
        *out++ = 'e';
        int exponent = point - 1;
        *out++ = exponent < 0 ? '-' : '+';
        if (exponent < 0) exponent = -exponent;
        char* const to = reinterpret_cast<char*>(out);
        out = reinterpret_cast<uint8_t*>(std::to_chars(to, to + 4, exponent).ptr);
    }
    return out;
}

inline uint8_t* put_decimal(uint8_t* out, const Decimal& decimal) {
    char digits[2 * kNumberSize];
    const int count = static_cast<int>(std::to_chars(digits, digits + 20, decimal.digits).ptr - digits);
    return put_number_layout(out, digits, count, count + decimal.exponent);
}

// The power of ten that the digits of a token of at most 19 of them are multiplied with; false where it is beyond that.
inline bool read_exponent(const NumberToken& token, int& exponent) {
    constexpr size_t kMostDigits = 19;
    const size_t zero = *token.whole == '0';  // no digit that counts
    if (token.whole_size + token.fraction_size - zero > kMostDigits) return false;
    exponent = 0;
    if (token.has_exponent) {
        const uint8_t* in = token.fraction + token.fraction_size + 1;
        const bool negative = *in == '-';
        if (*in == '-' || *in == '+') ++in;
        if (token.end - in > 4) return false;
        for (; in < token.end; ++in) exponent = exponent * 10 + (*in - '0');
        if (negative) exponent = -exponent;
    }
    exponent -= static_cast<int>(token.fraction_size);
    return true;
}

// Where the value of a token that is out of a double's range lies: beyond it, or next to zero.
inline bool is_overflow(const NumberToken& token) {
    // The place of the first digit that is not zero, counted from the decimal point, decides together with the exponent.
    long long place = 0;
    const uint8_t* in = token.whole;
    while (in < token.whole + token.whole_size && *in == '0') ++in;
    if (in < token.whole + token.whole_size) {
        place = token.whole + token.whole_size - in;
    } else {
        in = token.fraction;
        while (in < token.fraction + token.fraction_size && *in == '0') ++in;
        if (in == token.fraction + token.fraction_size) return false;
        place = -(in - token.fraction);
    }
    if (!token.has_exponent) return place > 0;
    in = token.fraction + token.fraction_size + 1;
    const bool negative = *in == '-';
    if (*in == '-' || *in == '+') ++in;
    long long exponent = 0;
    constexpr long long kEnough = 1LL << 60;  // beyond any place that a document in memory can have
    for (; in < token.end; ++in) exponent = exponent > kEnough / 10 ? kEnough : exponent * 10 + (*in - '0');
    return place + (negative ? -exponent : exponent) > 0;
}

// The token itself, with a lower-case e and without the exponent's plus.
inline uint8_t* put_token(uint8_t* out, const NumberToken& token) {
    for (const uint8_t* in = token.start; in < token.end; ++in) {
        if (*in != '+') *out++ = static_cast<uint8_t>(*in == 'E' ? 'e' : *in);
    }
    return out;
}

inline bool exceeds_exact_integers(const NumberToken& token) {
    constexpr char kLargest[] = "9007199254740991";  // 2^53 - 1
    constexpr size_t kDigits = sizeof kLargest - 1;
    return token.whole_size > kDigits ||
           (token.whole_size == kDigits && std::memcmp(token.whole, kLargest, kDigits) > 0);
}

// Writes a token's canonical form. The caller has room for the token's size plus kNumberSize.
inline uint8_t* put_number(uint8_t* out, const NumberToken& token, uint32_t& flags) {
    if (token.fraction_size == 0 && !token.has_exponent) {
        if (token.whole_size == 1 && *token.whole == '0') {
            *out++ = '0';
            return out;
        }
        if (exceeds_exact_integers(token)) flags |= kBigint;
        const size_t size = static_cast<size_t>(token.end - token.start);
        std::memcpy(out, token.start, size);
        return out + size;
    }
    const bool below_one = *token.whole == '0';
    // Up to 15 digits survive the way through a double, so without its trailing zeros the text is the shortest form
    // already. Below 1e-6 the layout has an exponent.
    if (!token.has_exponent && token.whole_size + token.fraction_size <= 15 + static_cast<size_t>(below_one)) {
        const uint8_t* last = token.fraction + token.fraction_size;
        while (last > token.fraction && last[-1] == '0') --last;
        const size_t kept = static_cast<size_t>(last - token.fraction);
        const bool tiny = below_one && kept > 6 && std::memcmp(token.fraction, "000000", 6) == 0;
        if (!tiny) {
            const bool zero = below_one && kept == 0;
            if (token.negative && !zero) *out++ = '-';
            const size_t size = kept == 0 ? token.whole_size : token.whole_size + 1 + kept;
            return put_short(out, token.whole, size);
        }
    }
    double value = 0;
    int exponent = 0;
    if (read_exponent(token, exponent) && read_double(token.digits, exponent, value)) {
        const Decimal decimal = shortest(value);
        const size_t size = static_cast<size_t>(token.end - token.start);
        // What a good printer wrote needs no other.
        if (decimal.digits == token.digits && decimal.exponent == exponent && !token.has_exponent && value >= 1e-6) {
            return put_short(out, token.start, size);
        }
        if (token.negative) *out++ = '-';
        return put_decimal(out, decimal);
    }
    const char* const text = reinterpret_cast<const char*>(token.start + token.negative);
    const auto parsed = std::from_chars(text, reinterpret_cast<const char*>(token.end), value);
    if (parsed.ec == std::errc::result_out_of_range) {
        if (is_overflow(token)) {
            flags |= kOverflow;
            return put_token(out, token);
        }
        value = 0;
    }
    if (value == 0) {
        *out++ = '0';
        return out;
    }
    if (token.negative) *out++ = '-';
    return put_decimal(out, shortest(value));
}

}  // namespace loopguard
