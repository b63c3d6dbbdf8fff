# The client for Rust: format and lint, stubs, unit tests, the vectors.
RUST_CLIENT := clients/rust
RUST_TARGET := $(RUST_CLIENT)/target/debug

.PHONY: client-rust rust-stubs
client-rust: setup $(PROTOS_VENV)/.installed ## check the client for Rust
	@command -v cargo >/dev/null || { echo "client-rust: Rust 1.88 or newer is needed" >&2; exit 2; }
	@cd $(RUST_CLIENT) && cargo fmt --all --check
	@$(RUST_CLIENT)/generate.sh --check
	@cd $(RUST_CLIENT) && cargo clippy --locked --quiet --workspace --all-targets -- --deny warnings
	@cd $(RUST_CLIENT) && cargo test --locked --quiet --workspace
	@cd $(RUST_CLIENT) && cargo build --locked --quiet --workspace --examples --bins
	tools/with-server.sh $(RUST_TARGET)/loopguard-conformance \
	  conformance/canon.jsonl conformance/wire.jsonl conformance/detect.jsonl
	@tools/with-server.sh $(RUST_TARGET)/examples/command_loop 'ls /nowhere' | tail -n 2

rust-stubs: $(PROTOS_VENV)/.installed
	@$(RUST_CLIENT)/generate.sh

protos: rust-stubs
