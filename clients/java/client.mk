# The Java client. Included by clients/clients.mk.
JAVA_CLIENT := clients/java
JAVA_JAR = $(JAVA_CLIENT)/$(1)/target/loopguard-$(1)-0.1.0.jar

.PHONY: client-java java-stubs
client-java: setup $(PROTOS_VENV)/.installed ## check the Java client
	@command -v mvn >/dev/null || { echo "client-java: Maven 3.8 and Java 17, or newer, are needed" >&2; exit 2; }
	@$(JAVA_CLIENT)/generate.sh --check
	@cd $(JAVA_CLIENT) && mvn -B -ntp -q clean verify
	@tools/with-server.sh java -cp $(call JAVA_JAR,conformance) io.loopguard.conformance.Differential
	@java -cp $(call JAVA_JAR,examples) io.loopguard.examples.Quickstart
	@tools/with-server.sh java -jar $(call JAVA_JAR,examples) 'ls /nowhere' >$(JAVA_CLIENT)/examples/target/commandloop.txt
	@tail -n 1 $(JAVA_CLIENT)/examples/target/commandloop.txt
	@tools/with-server.sh java -jar $(call JAVA_JAR,conformance) conformance/canon.jsonl conformance/wire.jsonl conformance/detect.jsonl

java-stubs: $(PROTOS_VENV)/.installed
	@$(JAVA_CLIENT)/generate.sh

protos: java-stubs
