# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# The machine, as it says itself. $work/gpus has a line "UUID MINOR PCI_ADDRESS" a
# GPU, in the order of the PCI addresses, which is that of the indices.

field() { sed -n "s/^$1:[[:space:]]*//p" "$2"; }

gpus_of_kernel() {
    local file
    for file in /proc/driver/nvidia/gpus/*/information; do
        [ ! -f "$file" ] || echo "$(field 'GPU UUID' "$file") $(field 'Device Minor' "$file")" \
            "$(field 'Bus Location' "$file")"
    done
}

driver_version() {
    cat /sys/module/nvidia/version 2>/dev/null \
        || grep -m1 NVRM /proc/driver/nvidia/version | grep -oE '[0-9]+(\.[0-9]+)+' | sed -n 1p
}

gpu_count() { wc -l <"$work/gpus"; }
all_uuids() { cut -d' ' -f1 "$work/gpus"; }
uuid_at() { sed -n "$(($1 + 1))s/ .*//p" "$work/gpus"; }
address_at() { sed -n "$(($1 + 1))s/.* //p" "$work/gpus"; }

# uuids_at INDEX...: in this order
uuids_at() {
    local index
    for index in "$@"; do
        uuid_at "$index"
    done
}

# nodes_of UUIDS
nodes_of() {
    local uuid minor
    while read -r uuid minor _; do
        ! grep -qx "$uuid" <<<"$1" || echo "/dev/nvidia$minor"
    done <"$work/gpus" | sort
}

kernel_is_at_least() {
    local major minor
    IFS=.- read -r major minor _ < <(uname -r)
    [ "$major" -gt "$1" ] || { [ "$major" -eq "$1" ] && [ "$minor" -ge "$2" ]; }
}

# The ways of mounting that this kernel has.
backends() {
    if kernel_is_at_least 6 15; then
        echo detached assembled
    else
        echo assembled
    fi
}

# Others mount and unmount on this machine meanwhile: what these phases alone could leave.
our_mounts() { grep -F -e " $work" -e gpuctr /proc/self/mountinfo || true; }

# Everything about a tree of files that undo and -- CMD have to leave alone.
snapshot() {
    find "$1" -xdev ! -path "$1/dev" -printf '%P %y %i %m %U %G %s %T@ %l\n' | sort
    find "$1" -xdev -type f -print0 | sort -z | xargs -0 sha256sum
}
