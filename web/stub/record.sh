#!/usr/bin/env bash
# Writes recorded/: reports about small simulated incidents as the stub server responds with them: documents and, of
# diagnoses, the JSON reports.
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

# Without white space and without paths of this folder.
record() {
    node -e '
        const text = require("node:fs").readFileSync(0, "utf8").replaceAll(process.argv[1] + "/", "");
        process.stdout.write(JSON.stringify(JSON.parse(text)) + "\n");
    ' "$work" >"$here/recorded/$1.json"
    printf '%8d  %s\n' "$(stat -c %s "$here/recorded/$1.json")" "$1"
}

for scenario in random-device slow-host quiet misconfiguration code-bug-new-operation; do
    "$laggard" simulate --scenario "$scenario" --seed 7 --requests 300 --categories 1 -o "$scenario" >/dev/null
done
"$laggard" diagnose random-device/traces --output json | record diagnose
"$laggard" diagnose random-device/traces --output document | record diagnose.document
"$laggard" diagnose slow-host/traces --output json | record diagnose-several
"$laggard" diagnose slow-host/traces --output document | record diagnose-several.document
"$laggard" diagnose quiet/traces --output json | record diagnose-healthy
"$laggard" diagnose quiet/traces --output document | record diagnose-healthy.document
"$laggard" compare misconfiguration/traces code-bug-new-operation/traces --output document | record compare
"$laggard" compare quiet/traces quiet/traces --output document | record compare-unchanged

for scenario in tpcw-balanced tpcw-quiet tpcw; do
    "$laggard" simulate --scenario "$scenario" --seed 7 -o "$scenario" >/dev/null
done
"$laggard" changes tpcw-balanced/samples --window 5m --output document \
    --deployment 2026-01-12T06:00:00Z=v2.4.1 | record changes
"$laggard" changes tpcw/samples --window 5m --output document | record changes-anomaly
"$laggard" changes tpcw-quiet/samples --window 5m --output document | record changes-steady
"$laggard" signature tpcw-balanced/samples --until 2026-01-12T06:00:00Z --label old --output json >old.json
"$laggard" signature tpcw-balanced/samples --until 2026-01-12T06:00:00Z --label old --output document | record signature
"$laggard" signature tpcw-balanced/samples --since 2026-01-12T06:00:00Z --label new --output json >new.json
"$laggard" signature diff old.json new.json --output document | record signature-diff
"$laggard" capacity tpcw-balanced/samples --window 5m --latency-max 500ms --what-if front.servers=5 --output document |
    record capacity-what-if
"$laggard" capacity tpcw-balanced/samples --window 5m --latency-max 500ms --output document | record capacity

for set in normal slow; do node "$here/record/kernel_text.mjs" "$set" >"$set.txt"; done
"$laggard" kernel stats slow.txt --output document | record kernel-stats
"$laggard" kernel path slow.txt --executions marker --output document | record kernel-path
"$laggard" kernel diagnose --normal normal.txt --sample slow.txt --executions marker --output document |
    record kernel-diagnose
