# The clients in other languages. Each brings clients/LANGUAGE/client.mk with one target, client-LANGUAGE: format and lint
# checks, unit tests, then its conformance runner against a server that tools/with-server.sh starts.
CLIENTS := $(patsubst clients/%/client.mk,%,$(wildcard clients/*/client.mk))

.PHONY: clients
clients: ## check the clients in other languages, one after another
clients: $(CLIENTS:%=client-%)

include $(wildcard clients/*/client.mk)
# Two cores: one language's compiler at a time.
.NOTPARALLEL: clients
