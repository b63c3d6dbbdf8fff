// Doubles from and to decimal digits by 128-bit powers of ten: no big numbers, no branches on digits.
//
// Reading is Daniel Lemire's algorithm (Number Parsing at a Gigabyte per Second, 2021), printing Raffaello Giulietti's (The
// Schubfach way to render doubles, 2020). About 10 ns and 15 ns; the standard library's take over 100 ns together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace loopguard {

// value = digits * 10^exponent, the digits without trailing zeros.
struct Decimal {
    uint64_t digits;
    int exponent;
};

class PowersOfTen {
public:
    static constexpr int kLeast = -342;
    static constexpr int kMost = 324;

    // The first 128 bits of 10^k, rounded down.
    struct Power {
        uint64_t high;
        uint64_t low;
    };

    static const Power& of(int k) {
        static const PowersOfTen powers;
        return powers.powers_[k - kLeast];
    }

private:
    // Wide enough for 10^324, and for 2^(bits - 1) / 10^342 to have 128 bits left.
    static constexpr int kWords = 42;

    // Exact: multiplying by ten loses nothing, and rounding down twice is rounding down once.
    PowersOfTen() {
        uint32_t number[kWords * 2] = {1};
        for (int k = 0; k <= kMost; ++k) {
            powers_[k - kLeast] = first_bits(number);
            uint64_t carry = 0;
            for (uint32_t& word : number) {
                carry += uint64_t{word} * 10;
                word = static_cast<uint32_t>(carry);
                carry >>= 32;
            }
        }
        std::memset(number, 0, sizeof number);
        number[kWords * 2 - 1] = 0x80000000u;
        for (int k = -1; k >= kLeast; --k) {
            uint64_t rest = 0;
            for (int i = kWords * 2; i-- > 0;) {
                rest = rest << 32 | number[i];
                number[i] = static_cast<uint32_t>(rest / 10);
                rest %= 10;
            }
            powers_[k - kLeast] = first_bits(number);
        }
    }

    static Power first_bits(const uint32_t (&number)[kWords * 2]) {
        int top = kWords * 2 - 1;
        while (number[top] == 0) --top;
        const int shift = __builtin_clz(number[top]);
        const auto word = [&](int i) { return i < 0 ? uint64_t{0} : uint64_t{number[i]}; };
        const auto shifted = [&](int i) {
            return shift == 0 ? word(i) : (word(i) << shift | word(i - 1) >> (32 - shift)) & 0xFFFFFFFFu;
        };
        return {shifted(top) << 32 | shifted(top - 1), shifted(top - 2) << 32 | shifted(top - 3)};
    }

    Power powers_[kMost - kLeast + 1];
};

struct Product {
    uint64_t high;
    uint64_t low;
};

inline Product multiply(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return {static_cast<uint64_t>(product >> 64), static_cast<uint64_t>(product)};
}

// The double nearest to digits * 10^exponent. False where this way can't tell, or it is no normal number.
inline bool read_double(uint64_t digits, int exponent, double& value) {
    if (digits == 0 || exponent < PowersOfTen::kLeast || exponent > 308) return false;
    PowersOfTen::Power power = PowersOfTen::of(exponent);
    if (exponent < 0 && ++power.low == 0) ++power.high;  // reciprocals are rounded up here
    const int zeros = __builtin_clzll(digits);
    digits <<= zeros;
    Product product = multiply(digits, power.high);
    if ((product.high & 0x1FF) == 0x1FF) {
        const uint64_t more = multiply(digits, power.low).high;
        product.low += more;
        product.high += product.low < more;
        if (product.low == ~uint64_t{0} && (exponent < -27 || exponent > 55)) return false;
    }
    const int top = static_cast<int>(product.high >> 63);
    const int shift = top + 64 - 52 - 3;
    uint64_t mantissa = product.high >> shift;
    int biased = ((217706 * exponent) >> 16) + 63 + top - zeros + 1023;
    if (biased <= 0) return false;
    // Exactly between two doubles: the even one.
    if (product.low <= 1 && exponent >= -4 && exponent <= 23 && (mantissa & 3) == 1 && mantissa << shift == product.high) {
        mantissa &= ~uint64_t{1};
    }
    mantissa += mantissa & 1;
    mantissa >>= 1;
    if (mantissa >= uint64_t{2} << 52) {
        mantissa = uint64_t{1} << 52;
        ++biased;
    }
    if (biased >= 0x7FF) return false;
    const uint64_t bits = static_cast<uint64_t>(biased) << 52 | (mantissa & ~(uint64_t{1} << 52));
    std::memcpy(&value, &bits, sizeof value);
    return true;
}

// The shortest digits that read as this positive, finite double; the nearest of them.
inline Decimal shortest(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
    const int biased = static_cast<int>(bits >> 52);
    const uint64_t c = biased == 0 ? fraction : fraction | uint64_t{1} << 52;
    const int q = biased == 0 ? -1074 : biased - 1075;
    // At a power of two the double below is only half as far away.
    const bool closer_below = fraction == 0 && biased > 1;
    const uint64_t odd = c & 1;
    const int k = (q * 1262611 - (closer_below ? 524031 : 0)) >> 22;
    const int h = q + ((-k * 1741647) >> 19) + 1;
    PowersOfTen::Power g = PowersOfTen::of(-k);
    if (++g.low == 0) ++g.high;
    // The product's integer part; an odd last bit stands for everything behind it.
    const auto scaled = [&g, h](uint64_t boundary) {
        const uint64_t factor = boundary << h;
        Product product = multiply(g.high, factor);
        const uint64_t low = multiply(g.low, factor).high;
        product.low += low;
        product.high += product.low < low;
        return product.high | (product.low > 1);
    };
    const uint64_t lower = scaled(4 * c - 2 + closer_below) + odd;
    const uint64_t middle = scaled(4 * c);
    const uint64_t upper = scaled(4 * c + 2) - odd;
    const uint64_t s = middle / 4;
    Decimal found{0, k};
    const uint64_t tens = s / 10;
    const bool below_fits = lower <= 40 * tens;
    const bool above_fits = 40 * tens + 40 <= upper;
    if (s >= 10 && below_fits != above_fits) {
        found = {tens + above_fits, k + 1};
    } else {
        const bool down_fits = lower <= 4 * s;
        const bool up_fits = 4 * s + 4 <= upper;
        const bool nearer_up = middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1) != 0);
        found.digits = s + (down_fits != up_fits ? up_fits : nearer_up);
    }
    while (found.digits % 10 == 0) {
        found.digits /= 10;
        ++found.exponent;
    }
    return found;
}

}  // namespace loopguard
