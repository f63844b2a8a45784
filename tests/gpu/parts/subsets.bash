# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Some of the GPUs: named in every way and order, and by two containers at once.

# Eight digits are unambiguous on any machine that is likely.
prefix_at() { uuid_at "$1" | cut -c1-12; }

# short_address_at INDEX: without the domain, where that is 0
short_address_at() {
    local address
    address=$(address_at "$1")
    echo "${address#0000:}"
}

# The lists that --device is given, a line "LIST INDEX...": the GPUs that it means.
# On a machine with one GPU its names repeat.
list_requests() {
    local last indices
    last=$(($(gpu_count) - 1))
    [ $last -lt 3 ] || echo "3,1 3 1"
    echo "$last,0 $last 0"
    mapfile -t indices < <(seq $last -1 0)
    echo "$(uuids_at "${indices[@]}" | paste -sd,) ${indices[*]}"
    echo "$(prefix_at $last | tr a-f A-F) $last"
    echo "$(short_address_at $last | tr a-f A-F),0000$(address_at 0) $last 0"
    echo "$(address_at $last),0,$(uuid_at $last),$(prefix_at 0),0 $last 0"
}

# sorted_uuids INDEX...: in the order of the machine, each once
sorted_uuids() {
    local indices
    mapfile -t indices < <(printf '%s\n' "$@" | sort -nu)
    uuids_at "${indices[@]}"
}

# shorten LIST: UUIDs to what tells them apart
shorten() { sed -E 's/(GPU-[0-9a-f]{8})-[0-9a-f-]+/\1.../g' <<<"$1"; }

check_device_lists() {
    local list indices chosen backend
    while read -r list indices; do
        # shellcheck disable=SC2086 # a list
        chosen=$(sorted_uuids $indices)
        for backend in $(backends); do
            check_choice "--device $(shorten "$list"), $backend" "$chosen" "$chosen" \
                "$setup" --nv --rootfs "$rootfs" --backend "$backend" --device "$list" --
        done
    done < <(list_requests)
}

# CUDA_VISIBLE_DEVICES chooses like --device, and says in which order CUDA counts.
check_visible_devices() {
    local last indices=(0) list chosen backend container=("$setup" --nv --rootfs "$rootfs")
    last=$(($(gpu_count) - 1))
    [ $last -eq 0 ] || indices=("$last" 0)
    list=$(printf '%s\n' "${indices[@]}" | paste -sd,)
    chosen=$(sorted_uuids "${indices[@]}")
    for backend in $(backends); do
        CUDA_VISIBLE_DEVICES=$list check_choice "CUDA_VISIBLE_DEVICES=$list, $backend" \
            "$chosen" "$(uuids_at "${indices[@]}")" "${container[@]}" --backend "$backend" --
    done
    CUDA_VISIBLE_DEVICES=$(prefix_at $last) check_choice "CUDA_VISIBLE_DEVICES=$(prefix_at $last)" \
        "$(uuid_at $last)" "$(uuid_at $last)" "${container[@]}" --
    [ $last -gt 0 ] || return 0
    check_choice "--device 0,$last, in it CUDA_VISIBLE_DEVICES=1,0" "$chosen" \
        "$(uuids_at $last 0)" "${container[@]}" --device "0,$last" --setenv CUDA_VISIBLE_DEVICES=1,0 --
}

phase_subsets() {
    local before last container=("$setup" --nv --rootfs "$rootfs")
    before=$(snapshot "$rootfs")
    last=$(($(gpu_count) - 1))
    check_device_lists
    check_visible_devices
    check_gpus "--device $last" "$(uuid_at $last)" "${container[@]}" --device $last --
    check_no_gpu "--device none" "${container[@]}" --device none --
    exits "--device: unknown index" 2 "${container[@]}" --device $((last + 1)) -- /usr/bin/true
    same "subsets: the root file system is as before" "$before" "$(snapshot "$rootfs")"
}

# In the container, with $meeting mounted on /mnt: shows the GPUs while the other
# one runs too. The arguments are the names of this one and of the other.
# shellcheck disable=SC2016
meet='await() {
    for _ in 0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o p q r s t; do
        [ ! -e "/mnt/$1" ] || return 0
        sleep 1
    done
    echo "no $1 after 30 s"
    exit 1
}
: >"/mnt/$1.started"
await "$2.started"
(set --; eval "$show_gpus")
: >"/mnt/$1.shown"
await "$2.shown"'

# Two containers of one root file system at once, the first and the last GPU theirs.
phase_together() {
    local before last meeting one other container
    last=$(($(gpu_count) - 1))
    meeting=$(mktemp -d "$HOME/meeting.XXXXXX") || return 1
    before=$(snapshot "$rootfs")
    container=("$setup" --nv --rootfs "$rootfs" --bind "$meeting:/mnt")
    export show_gpus
    "${container[@]}" --device 0 -- /usr/bin/sh -c "$meet" sh one other >"$meeting/output" 2>&1 &
    other=$("${container[@]}" --device $last -- /usr/bin/sh -c "$meet" sh other one 2>&1)
    wait $!
    one=$(cat "$meeting/output")
    compare_gpus "at once, --device 0" "$(uuid_at 0)" "$(uuid_at 0)" "$one"
    compare_gpus "at once, --device $last" "$(uuid_at $last)" "$(uuid_at $last)" "$other"
    same "at once: the root file system is as before" "$before" "$(snapshot "$rootfs")"
    rm -rf "$meeting"
}
