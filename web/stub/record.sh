#!/usr/bin/env bash
# Writes recorded/: what the command line answers about small simulated incidents, as the stub server hands it out.
#
#     web/stub/record.sh target/release/laggard
#
# Run it again when a report gains fields, and look at the difference.
set -euo pipefail
laggard=$(realpath "${1:?the program to record}")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Without white space; paths of this folder do not belong in a recording.
keep() {
    node -e '
        const text = require("node:fs").readFileSync(0, "utf8").replaceAll(process.argv[1] + "/", "");
        process.stdout.write(JSON.stringify(JSON.parse(text)) + "\n");
    ' "$work" >"$here/recorded/$1.json"
    printf '%8d  %s\n' "$(stat -c %s "$here/recorded/$1.json")" "$1"
}

for scenario in random-device slow-host quiet misconfiguration code-bug-new-operation; do
    "$laggard" simulate --scenario "$scenario" --seed 7 --requests 300 --categories 1 -o "$scenario" >/dev/null
done
"$laggard" diagnose random-device/traces --output json | keep diagnose
"$laggard" diagnose slow-host/traces --output json | keep diagnose-several
"$laggard" diagnose quiet/traces --output json | keep diagnose-healthy
"$laggard" compare misconfiguration/traces code-bug-new-operation/traces --output json | keep compare
"$laggard" compare quiet/traces quiet/traces --output json | keep compare-unchanged

for scenario in tpcw-balanced tpcw-quiet tpcw; do
    "$laggard" simulate --scenario "$scenario" --seed 7 -o "$scenario" >/dev/null
done
"$laggard" changes tpcw-balanced/samples --window 5m --output json \
    --deployment 2026-01-12T06:00:00Z=v2.4.1 | keep changes
"$laggard" changes tpcw/samples --window 5m --output json | keep changes-anomaly
"$laggard" changes tpcw-quiet/samples --window 5m --output json | keep changes-steady
"$laggard" signature tpcw-balanced/samples --until 2026-01-12T06:00:00Z --label old --output json >old.json
keep signature <old.json
"$laggard" signature tpcw-balanced/samples --since 2026-01-12T06:00:00Z --label new --output json >new.json
"$laggard" signature diff old.json new.json --output json | keep signature-diff
"$laggard" capacity tpcw-balanced/samples --window 5m --latency-max 500ms --set front.servers=5 --output json |
    keep capacity-what-if
"$laggard" capacity tpcw-balanced/samples --window 5m --latency-max 500ms --output json | keep capacity

for set in normal slow; do node "$here/record/kernel_text.mjs" "$set" >"$set.txt"; done
"$laggard" kernel stats slow.txt --output json | keep kernel-stats
"$laggard" kernel path slow.txt --executions marker --output json | keep kernel-path
"$laggard" kernel diagnose --normal normal.txt --sample slow.txt --executions marker --output json |
    keep kernel-diagnose
