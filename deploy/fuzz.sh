#!/usr/bin/env bash
# Fuzzes the verifier under Address Sanitizer: deploy/fuzz.sh [SECONDS [TARGET...]]
#
# Each target runs for SECONDS (60): body, jws, payload, certificate, receipt, signature, page (a reply of
# Apple's server to recovery-worker) and rendering (a dead letter as auditors see it). signature also
# prints how many signatures it verified in both ways. The script ends with 1 at the first crash, leak, time-out or difference, and
# leaves the input that caused it in .build/fuzz/TARGET-*.
# Inputs that reached new code are kept in .build/fuzz/corpus for the next run.
#
# FUZZ_SANITIZER=none leaves Address Sanitizer out, for millions of comparisons of signatures in half
# the time: they are OpenSSL's arithmetic, which is not instrumented anyway.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
targets=("${@:2}")
((${#targets[@]})) || targets=(body jws payload certificate receipt signature page rendering)
out=.build/fuzz
sanitizer=${FUZZ_SANITIZER:-address}
case $sanitizer in
    address) build=$out/build binary=$out/fuzz-targets instrumented=(-sanitize=address) ;;
    none) build=$out/build-plain binary=$out/fuzz-targets-plain instrumented=() ;;
    *)
        printf 'FUZZ_SANITIZER: expected address or none, found "%s"\n' "$sanitizer" >&2
        exit 64
        ;;
esac

# A scratch path of its own: these objects are instrumented, nobody else can link them.
FUZZING=1 swift build --scratch-path "$build" -c release --product FuzzTargets \
    "${instrumented[@]/#/-}" -Xswiftc -sanitize=fuzzer
swiftc "${instrumented[@]}" -sanitize=fuzzer -o "$binary" "$build/release/libFuzzTargets.a" \
    $(pkg-config --libs libcrypto gmp rdkafka libpq libmicrohttpd libcurl)

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
