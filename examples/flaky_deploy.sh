#!/bin/sh
# A command that can only fail. Every run says so in other words: the time, the process, the attempt, how long it took.
attempt=${ATTEMPT:-1}
now() { date -u +%Y-%m-%dT%H:%M:%S; }
echo "$(now)Z deploy: starting, pid $$, attempt $attempt"
sleep 0.0$((attempt % 7 + 1))
echo "$(now)Z deploy: connection to registry refused (attempt $attempt took 0.$((attempt % 7 + 1))s)"
exit 1
