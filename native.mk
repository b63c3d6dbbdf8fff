# Checks of the C++ headers: fuzzing, and the extensions' tests under the sanitizers. Included by the Makefile.
CLANGXX ?= clang++-14
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := canon mask rules
FUZZ_FLAGS := -std=c++17 -O1 -g -fno-omit-frame-pointer -DLOOPGUARD_XXHASH -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

.PHONY: fuzz-tools
fuzz-tools:
	@tools/system-packages.sh $(PYTHON) $(CLANGXX)=clang-14 /usr/lib/clang/14/lib/linux=libclang-rt-14-dev /usr/include/xxhash.h=libxxhash-dev

build/fuzz/%: fuzz/%.cpp fuzz/common.hpp $(wildcard loopguard/native/*.hpp)
	mkdir -p $(@D)
	$(CLANGXX) $(FUZZ_FLAGS) $< -o $@ -lxxhash

# Each target gets its share of FUZZ_SECONDS; what it finds is left in build/fuzz. The messages of the protocol come on top.
.PHONY: fuzz
fuzz: ## fuzz the C++ headers for FUZZ_SECONDS in all, and then the reader of messages
fuzz: setup fuzz-tools $(FUZZ_TARGETS:%=build/fuzz/%)
	for target in $(FUZZ_TARGETS); do \
	  mkdir -p build/fuzz/$$target.corpus && \
	  build/fuzz/$$target -max_total_time=$$(( $(FUZZ_SECONDS) / 3 )) -max_len=4096 -timeout=10 -dict=fuzz/json.dict \
	    -artifact_prefix=build/fuzz/$$target- -print_final_stats=1 build/fuzz/$$target.corpus fuzz/corpus/$$target || exit 1; \
	done
	$(BIN)/python fuzz/wire.py --seconds $$(( $(FUZZ_SECONDS) / 3 ))

# A second build of the extension, so that the one in the tree stays as it is.
.PHONY: sanitize
sanitize: setup ## run the tests of the extensions under the sanitizers
	LOOPGUARD_EXAMPLES=$${LOOPGUARD_EXAMPLES:-400} PYTHON=$(BIN)/python tools/sanitize.sh

.PHONY: leak
leak: setup ## make 10 million fingerprints and see that memory stays flat
	LOOPGUARD_FINGERPRINTS=10000000 $(BIN)/pytest -q tests/core/test_face.py -k test_memory_stays_flat
