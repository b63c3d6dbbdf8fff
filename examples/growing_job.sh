#!/bin/sh
# A job that takes its time and says how far it is.
i=0
while [ $i -lt 15 ]; do
  i=$((i + 1))
  echo "indexed $((i * 120)) of 1800 files"
  sleep 0.1
done
