// Canonical form: its own canonical form, not much longer than the input, the same by every kernel.
#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const fuzz::Result result = fuzz::agree(data, size, 0, nullptr);
    if (result.json) {
        fuzz::check(result.text.size() * 4 <= size * 21, "1e20 grows most");
        const fuzz::Result again = fuzz::run(loopguard::choose_kernel(false), result.text, 0, nullptr);
        fuzz::check(again.json && again.text == result.text, "canonical form is stable");
    }
    loopguard::Arena* const arena = loopguard::lease_arena();
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[size]);
    if (size != 0) std::memcpy(exact.get(), data, size);
    if (loopguard::choose_kernel(false).list_members(*arena, exact.get(), size)) {
        for (const loopguard::Listed& item : arena->listed) {
            fuzz::check(item.start < item.end && item.end < size, "values lie in the input");
        }
    }
    loopguard::return_arena(arena);
    return 0;
}
