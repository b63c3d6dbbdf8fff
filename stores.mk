# What takes real servers of Redis and Valkey. Included by the Makefile.
$(VENV)/.stores: pyproject.toml tools/system-packages.sh | $(VENV)/.installed
	@./tools/system-packages.sh $(PYTHON) redis-server=redis-server
	@echo "installing what the checks of the stores need"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group stores
	@touch $@

.PHONY: stores
stores: setup $(VENV)/.stores ## run the stores' tests against servers of Redis and Valkey, alone and in a cluster
	@$(BIN)/pytest -q tests/stores/check_servers.py tests/stores/check_service.py
