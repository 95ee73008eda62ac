#!/usr/bin/env bash
# Fuzzes the verifier under Address Sanitizer: deploy/fuzz.sh [SECONDS [TARGET...]]
#
# Each target runs for SECONDS (60): body, jws, payload, certificate, receipt, signature. The last
# one also prints how many signatures it verified in both ways. The script ends with 1 at the first
# crash, leak, time-out or difference, and leaves the input that caused it in .build/fuzz/TARGET-*.
# Inputs that reached new code are kept in .build/fuzz/corpus for the next run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
targets=("${@:2}")
((${#targets[@]})) || targets=(body jws payload certificate receipt signature)
out=.build/fuzz
binary=$out/fuzz-targets

# A scratch path of its own: these objects are instrumented, nobody else can link them.
FUZZING=1 swift build --scratch-path "$out/build" -c release --product FuzzTargets \
    --sanitize=address -Xswiftc -sanitize=fuzzer
swiftc -sanitize=address -sanitize=fuzzer -o "$binary" "$out/build/release/libFuzzTargets.a" \
    $(pkg-config --libs libcrypto rdkafka)

export SWIFT_BACKTRACE=enable=no
# What was freed is kept for a while to catch its use; by default that alone is 256 MiB.
export ASAN_OPTIONS=quarantine_size_mb=32
for target in "${targets[@]}"; do
    corpus=$out/corpus/$target
    seeds=$out/seeds/$target
    known=Tests/Fuzz/Corpus/$target
    mkdir -p "$corpus" "$seeds"
    folders=("$corpus" "$seeds")
    [[ ! -d $known ]] || folders+=("$known")
    printf '== %s, %s s\n' "$target" "$seconds"
    FUZZ_TARGET=$target FUZZ_SEEDS=$seeds "$binary" \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536 \
        -dict=Tests/Fuzz/dictionary.txt -artifact_prefix="$out/$target-" -print_final_stats=1 \
        "${folders[@]}" >"$out/$target.log" 2>&1 || {
        tail -n 60 "$out/$target.log"
        exit 1
    }
    grep -E '^stat::(number_of_executed_units|peak_rss_mb)|DONE|^comparisons' "$out/$target.log"
done
