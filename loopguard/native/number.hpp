// Number tokens: integers keep their digits, everything else is an IEEE double in ECMAScript's layout.
#pragma once

#include <charconv>

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
};

inline const uint8_t* skip_digits(const uint8_t* in, const uint8_t* end) {
    while (in < end && is_digit(*in)) ++in;
    return in;
}

// Reads a token at `in` by JSON's grammar; false if there is none.
inline bool read_number(const uint8_t* in, const uint8_t* end, NumberToken& token) {
    token.start = in;
    token.negative = in < end && *in == '-';
    if (token.negative) ++in;
    token.whole = in;
    in = skip_digits(in, end);
    token.whole_size = static_cast<size_t>(in - token.whole);
    if (token.whole_size == 0 || (token.whole_size > 1 && *token.whole == '0')) return false;
    token.fraction = in;
    token.fraction_size = 0;
    if (in < end && *in == '.') {
        token.fraction = ++in;
        in = skip_digits(in, end);
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
// negative or beyond the last).
inline uint8_t* put_number_layout(uint8_t* out, const char* digits, int count, int point) {
    const auto zeros = [&out](int n) {
        std::memset(out, '0', static_cast<size_t>(n));
        out += n;
    };
    const auto copy = [&out](const char* from, int n) {
        std::memcpy(out, from, static_cast<size_t>(n));
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

// A finite double; at most kNumberSize bytes.
inline uint8_t* put_double(uint8_t* out, double value) {
    if (value == 0) {
        *out++ = '0';
        return out;
    }
    if (value < 0) {
        *out++ = '-';
        value = -value;
    }
    char scientific[40];
    const char* const end = std::to_chars(scientific, scientific + sizeof scientific, value, std::chars_format::scientific).ptr;
    char digits[20];
    int count = 0;
    const char* in = scientific;
    for (; *in != 'e'; ++in) {
        if (*in != '.') digits[count++] = *in;
    }
    int exponent = 0;
    in += in[1] == '+' ? 2 : 1;  // from_chars takes a minus, but no plus
    std::from_chars(in, end, exponent);
    return put_number_layout(out, digits, count, exponent + 1);
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
            std::memcpy(out, token.whole, size);
            return out + size;
        }
    }
    double value = 0;
    const char* const text = reinterpret_cast<const char*>(token.start);
    const auto parsed = std::from_chars(text, reinterpret_cast<const char*>(token.end), value);
    if (parsed.ec == std::errc::result_out_of_range) {
        if (is_overflow(token)) {
            flags |= kOverflow;
            return put_token(out, token);
        }
        value = 0;
    }
    return put_double(out, value);
}

}  // namespace loopguard
