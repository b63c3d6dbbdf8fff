# The Go client. Included by clients/clients.mk.
GO_BUILD := $(CURDIR)/build/client-go
GO_STATICCHECK = go tool -modfile=$(CURDIR)/clients/go/tools/go.mod staticcheck

.PHONY: client-go
client-go: setup $(PROTOS_VENV)/.installed ## check the Go client
	@unformatted=$$(gofmt -l clients/go examples/go-gateway) && test -z "$$unformatted" || { echo "not formatted: $$unformatted" >&2; exit 1; }
	@rm -rf $(GO_BUILD) && mkdir -p $(GO_BUILD)/stubs
	@clients/go/generate.sh --to $(GO_BUILD)/stubs
	@diff -r $(GO_BUILD)/stubs/loopguardv1 clients/go/loopguardv1 || { echo "clients/go/loopguardv1 is stale: run 'make protos'" >&2; exit 1; }
	@for module in clients/go clients/go/tools examples/go-gateway; do (cd $$module && go mod tidy -diff) || exit 1; done
	cd clients/go && go vet ./... && $(GO_STATICCHECK) ./...
	cd examples/go-gateway && go vet ./... && $(GO_STATICCHECK) ./...
	cd clients/go && go test -race -count=1 ./...
	@cd clients/go && go build -o $(GO_BUILD)/ ./cmd/... ./examples/...
	@cd examples/go-gateway && go build -o $(GO_BUILD)/ .
	tools/with-server.sh $(GO_BUILD)/loopguard-conformance conformance/canon.jsonl conformance/wire.jsonl conformance/detect.jsonl
	@tools/with-server.sh $(GO_BUILD)/commandloop 'ls /nowhere' >$(GO_BUILD)/commandloop.txt && tail -n 2 $(GO_BUILD)/commandloop.txt
	@$(GO_BUILD)/quickstart
	tools/with-server.sh $(GO_BUILD)/go-gateway
