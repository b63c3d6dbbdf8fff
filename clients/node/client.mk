# The client for Node.js: format and lint, unit tests, the vectors.
NODE_CLIENT := clients/node
NODE_MARK := $(NODE_CLIENT)/node_modules/.package-lock.json

$(NODE_MARK): $(NODE_CLIENT)/package.json $(NODE_CLIENT)/package-lock.json
	@command -v npm >/dev/null || { echo "client-node: npm and Node.js 20.19 or newer are needed" >&2; exit 2; }
	@echo "installing the packages of clients/node"
	@cd $(NODE_CLIENT) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: client-node node-stubs
client-node: setup $(PROTOS_VENV)/.installed $(NODE_MARK) ## check the client for Node.js
	@$(NODE_CLIENT)/generate.sh --check
	@cd $(NODE_CLIENT) && npm run --silent clean && npm run --silent build:all && npm run --silent lint
	@cd $(NODE_CLIENT) && npm test --silent
	@tools/with-server.sh $(NODE_CLIENT)/check-with-server.sh

node-stubs: $(PROTOS_VENV)/.installed $(NODE_MARK)
	@$(NODE_CLIENT)/generate.sh

protos: node-stubs
