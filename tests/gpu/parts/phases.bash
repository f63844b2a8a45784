# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What the command promises, with every GPU. Each phase runs as $who, with a root
# file system of its own in $rootfs.

phase_list() {
    local text json
    text=$("$setup" list --nv 2>&1) || fail "list: exit status" "$text"
    json=$("$setup" list --nv --format json 2>&1) || fail "list --format json: exit status" "$json"
    contains "list --format json: schema" '"schema": *"gpucontainer/list/1"' "$json"
    same "list: GPUs" "$(all_uuids)" "$(grep -oE 'GPU-[0-9a-f-]{36}' <<<"$text")"
    same "list --format json: GPUs" "$(all_uuids)" "$(grep -oE 'GPU-[0-9a-f-]{36}' <<<"$json")"
    contains "list: driver $version" "${version//./\\.}" "$text"
}

# In a user namespace an ordinary user looks like root, and may not write root's journal.
state_options() { [ "$who" = root ] || printf '%s\n' --state-dir "$XDG_STATE_HOME"; }

# In a mount namespace of its own, with the capabilities to mount there.
phase_apply() {
    local before mounts applied container=(chroot "$rootfs") state
    mapfile -t state < <(state_options)
    before=$(snapshot "$rootfs")
    mounts=$(our_mounts)

    # /proc first: then the plan can keep the driver from making nodes itself.
    mount --bind "$rootfs" "$rootfs"
    mount --rbind /proc "$rootfs/proc"
    succeeds "apply" "$setup" --nv --rootfs "$rootfs" "${state[@]}"
    check_gpus "apply" "$(all_uuids)" "${container[@]}"
    check_libraries "apply" "${container[@]}"
    check_programs "apply" "${container[@]}"

    applied=$(our_mounts)
    succeeds "apply again" "$setup" --nv --rootfs "$rootfs" "${state[@]}"
    same "apply again: no mount changed" "$applied" "$(our_mounts)"
    succeeds "undo" "$setup" undo --rootfs "$rootfs" "${state[@]}"
    umount -l "$rootfs"
    same "undo: the mounts are as before" "$mounts" "$(our_mounts)"
    same "undo: the root file system is as before" "$before" "$(snapshot "$rootfs")"
}

phase_run() {
    local before backend container=("$setup" --nv --rootfs "$rootfs")
    before=$(snapshot "$rootfs")
    for backend in $(backends); do
        check_gpus "-- CMD, $backend" "$(all_uuids)" "${container[@]}" --backend "$backend" --
    done
    check_libraries "-- CMD" "${container[@]}" --
    exits "-- CMD: the command's exit status" 42 "${container[@]}" -- /usr/bin/sh -c 'exit 42'
    exits "-- CMD: no such command" 127 "${container[@]}" -- /no/such/command
    print_times "-- true" "${container[@]}" -- /usr/bin/true
    same "-- CMD: the root file system is as before" "$before" "$(snapshot "$rootfs")"
}

phase_runtime() {
    local before container=("$work/bin/c-runtime" "$rootfs")
    [ "$(id -u)" -eq 0 ] || container=(unshare -Ur "${container[@]}")
    before=$(snapshot "$rootfs")
    check_gpus "c-runtime" "$(all_uuids)" "${container[@]}"
    check_libraries "c-runtime" "${container[@]}"
    same "c-runtime: the root file system is as before" "$before" "$(snapshot "$rootfs")"
}
