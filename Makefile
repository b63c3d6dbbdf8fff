# Everything starts here: `make demo` shows loopguard at work, `make test` runs the tests. Both install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PROTOS_VENV := .venv-protos
SOURCES := $(wildcard loopguard/*.pyx) $(wildcard loopguard/*.pxd) $(wildcard loopguard/native/*.hpp) setup.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format types bench soak packages protos clean
.DELETE_ON_ERROR:

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: $(VENV)/.built ## create .venv with everything in it and build the extension

$(VENV)/.installed: pyproject.toml tools/system-packages.sh
	@./tools/system-packages.sh $(PYTHON)
	@test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing dependencies and building the extensions (minutes, the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check "pip>=25.1"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group dev
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -e '.[server]' 2>$(VENV)/install.log \
	  || { cat $(VENV)/install.log >&2; exit 1; }
	@touch $@

# The installation has just built them; only what has changed since needs another time.
$(VENV)/.built: $(VENV)/.installed $(SOURCES)
	@if ! ls loopguard/_core.*.so >/dev/null 2>&1 || [ -n "$$(find $(SOURCES) -newer $(VENV)/.installed)" ]; then \
	  echo "bringing the extensions up to date" && $(BIN)/python setup.py -q build_ext --inplace; \
	fi
	@touch $@

$(PROTOS_VENV)/.installed: pyproject.toml | $(VENV)/.installed
	@echo "installing the protobuf tools"
	@test -x $(PROTOS_VENV)/bin/python || $(PYTHON) -m venv $(PROTOS_VENV)
	@$(PROTOS_VENV)/bin/python -m pip install -q --disable-pip-version-check "pip>=25.1"
	@$(PROTOS_VENV)/bin/python -m pip install -q --disable-pip-version-check --group protos
	@touch $@

demo: setup ## start a server and watch it stop a real stuck agent
	@$(BIN)/python examples/demo.py

test: setup $(PROTOS_VENV)/.installed ## run the tests
	@$(BIN)/pytest $(PYTEST_ARGS)

lint: setup types $(PROTOS_VENV)/.installed ## check style, layers and the protocol
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@PATH="$(abspath $(BIN)):$$PATH" cython-lint $(wildcard loopguard/*.pyx)
	@$(BIN)/lint-imports
	@tools/generate-protos.sh --lint

types: setup ## check types against an installed copy
	@# Without what earlier builds left: a module that has moved would still be there.
	@rm -rf build/typed build/lib* && $(BIN)/python -m pip install -q --no-deps --no-build-isolation --target build/typed .
	@cd build/typed && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p loopguard
	@$(BIN)/mypy --config-file pyproject.toml tests/typing
	@$(BIN)/pyright --pythonpath $(BIN)/python

bench: setup ## measure the core beside what one would write without it, and draw the README's chart
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group bench
	@$(BIN)/python benchmarks/bench_core.py --svg docs/core-speed.svg $(BENCH_ARGS)

soak: setup ## serve at 70 % load and look for growth (SOAK_ARGS="--seconds 45 --most 5" is the short form)
	@$(BIN)/python benchmarks/soak.py $(SOAK_ARGS)

packages: setup ## build sdist and wheel, and run the tests against the installed wheel
	@tools/check-packages.sh

format: setup ## format the Python code
	@$(BIN)/ruff check --fix-only -q . && $(BIN)/ruff format -q .

protos: $(PROTOS_VENV)/.installed ## regenerate loopguard/v1 and the clients' stubs from proto/
	@tools/generate-protos.sh
	@clients/go/generate.sh

clean: ## remove what was built; the virtual environments stay
	rm -rf build dist *.egg-info loopguard/_*.cpp loopguard/*.so $(VENV)/.built

-include native.mk stores.mk fleet.mk clients/clients.mk
