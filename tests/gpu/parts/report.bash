# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# One line a comparison. $who is whose turn it is.

ok() { printf 'ok    %s: %s\n' "$who" "$*"; }
skip() { printf 'skip  %s: %s\n' "$who" "$*"; }
note() { printf '      %s: %s\n' "$who" "$*"; }

# fail WHAT [DETAIL]
fail() {
    printf 'FAIL  %s: %s\n' "$who" "$1"
    [ $# -eq 1 ] || printf '%s\n' "$2" | sed 's/^/      | /'
}

# same WHAT EXPECTED FOUND
same() {
    if [ "$2" = "$3" ]; then
        ok "$1"
        return
    fi
    fail "$1" "$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | sed -n '1,20p')"
    return 1
}

# contains WHAT REGEX TEXT
contains() {
    if grep -qE "$2" <<<"$3"; then
        ok "$1"
    else
        fail "$1" "$3"
    fi
}

# succeeds WHAT COMMAND...: and prints nothing
succeeds() {
    local what=$1 output status
    shift
    output=$("$@" 2>&1)
    status=$?
    if [ $status -eq 0 ] && [ -z "$output" ]; then
        ok "$what"
    else
        fail "$what" "exit $status: $output"
    fi
}

# exits WHAT STATUS COMMAND...
exits() {
    local what=$1 expected=$2 output status
    shift 2
    output=$("$@" 2>&1)
    status=$?
    if [ $status -eq "$expected" ]; then
        ok "$what"
    else
        fail "$what" "exit $status instead of $expected: $output"
    fi
}

# print_times WHAT COMMAND...
print_times() {
    local what=$1 start times
    shift
    times=$(for _ in {1..20}; do
        start=${EPOCHREALTIME/./}
        "$@" >/dev/null 2>&1 || break
        echo $((${EPOCHREALTIME/./} - start))
    done | sort -n)
    same "$what: 20 runs" 20 "$(wc -w <<<"$times")"
    [ -z "$times" ] || note "$what: median $(sed -n 10p <<<"$times") us, least $(sed -n 1p <<<"$times") us," \
        "most $(sed -n 20p <<<"$times") us, the shell's fork included"
}
