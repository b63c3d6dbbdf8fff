// Doubles from and to decimal digits by 128-bit powers of ten: no big numbers, no branches on digits.
//
// Reading is Daniel Lemire's algorithm (Number Parsing at a Gigabyte per Second, 2021), printing Raffaello Giulietti's (The
// Schubfach way to render doubles, 2020). About 10 ns and 15 ns; the standard library's take over 100 ns together. That digits
// are such as printing would give takes a third of that to say.
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

    static constexpr const Power& of(int k);

    constexpr PowersOfTen();

private:
    // Wide enough for 10^324, and for 2^(bits - 1) / 10^342 to have 128 bits left.
    static constexpr int kWords = 42;

    static constexpr Power first_bits(const uint32_t (&number)[kWords * 2]) {
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

// Exact: multiplying by ten loses nothing, and rounding down twice is rounding down once.
constexpr PowersOfTen::PowersOfTen() : powers_{} {
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
    for (uint32_t& word : number) word = 0;
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

inline constexpr PowersOfTen kPowersOfTen;

constexpr const PowersOfTen::Power& PowersOfTen::of(int k) { return kPowersOfTen.powers_[k - kLeast]; }

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

// Whether the double nearest to digits * 10^exponent, which has to be a normal one, is printed with these very digits; `last`
// is the last of them, not zero. False also at powers of two and where it is too close to call.
//
// With 2^q the double's last bit and 10^k the power of ten next below it, neighbours are R = 2^q / 10^k apart in units of 10^k,
// and 1 <= R < 10. The digits lie within R / 2 of the double. If they end before 10^k, nothing else as short does, so they are
// it. If they end at 10^k, they are it unless a multiple of ten lies within R / 2 too, or another end is nearer to the double.
inline bool is_shortest(uint64_t digits, unsigned last, int exponent) {
    const PowersOfTen::Power& power = PowersOfTen::of(exponent);
    const int zeros = __builtin_clzll(digits);
    digits <<= zeros;
    // In units of 2^q: the double's 53 bits, or one less than they are, and behind them a fraction.
    Product x = multiply(digits, power.high);
    const uint64_t more = multiply(digits, power.low).high;
    x.low += more;
    x.high += x.low < more;
    const int top = static_cast<int>(x.high >> 63);
    const int q = ((217706 * exponent) >> 16) + 63 + top - zeros - 52;
    const int k = (q * 1262611) >> 22;
    // At a power of two the neighbours are not both as far.
    const uint64_t next = (x.high >> (10 + top)) + 1;
    const bool even_spaced = (next & ((uint64_t{1} << 52) - 1)) > 1;
    // Both with 59 bits behind the point: R, and how far the digits are above the double; less than nothing from a half on.
    const int shift = q + ((-k * 1741647) >> 19);
    const uint64_t r = PowersOfTen::of(-k).high >> (4 - shift);
    const auto fraction = static_cast<int64_t>(x.high << (54 - top) | x.low >> (10 + top));
    const auto above = static_cast<uint64_t>((static_cast<__int128>(fraction) * static_cast<int64_t>(r)) >> 64);
    constexpr uint64_t kOne = uint64_t{1} << 59;
    constexpr uint64_t kClose = 1 << 10;
    const bool nearest = above + (kOne / 2 - kClose) < kOne - 2 * kClose;
    const bool no_ten_below = r / 2 + above + kClose < last * kOne;
    const bool no_ten_above = r / 2 - above + kClose < (10 - last) * kOne;
    // Which it is can't be foreseen: no branches.
    return even_spaced & ((exponent > k) | ((exponent == k) & nearest & no_ten_below & no_ten_above));
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
