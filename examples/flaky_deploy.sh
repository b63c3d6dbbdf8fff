#!/bin/sh
# A command that can only fail, and says so in other words every time: the clock, the process, the attempt, the duration.
attempt=${ATTEMPT:-1}
took=0.$((attempt % 3 + 1))
sleep "$took"
echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) deploy: the registry refused the connection (pid $$, attempt $attempt, took ${took}s)"
exit 1
