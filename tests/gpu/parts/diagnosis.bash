# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What `check` says of containers in which a GPU program does not work, and what that
# program then says itself.

# first_of FIELD DOCUMENT: of the finding that stands first
first_of() { sed -n "s/^ *\"$1\": \"\\(.*\\)\",\\?\$/\\1/p" <<<"$2" | head -n 1; }

# diagnoses WHAT CODE EVIDENCE OPTION...: an error of this code stands first
diagnoses() {
    local what=$1 code=$2 evidence=$3 said
    shift 3
    said=$("$setup" check --nv --json "$@" 2>&1)
    same "$what: exit status of check" 9 $?
    same "$what: the first finding" "$code error $evidence" \
        "$(first_of code "$said") $(first_of severity "$said") $(first_of evidence "$said")"
}

# fails_as WHAT PATTERN PREFIX...: vector_add fails there, and says this
fails_as() {
    local what=$1 pattern=$2 said
    shift 2
    [ "$simulated" -eq 0 ] || return 0
    if said=$("$@" /usr/bin/vector_add 2>&1); then
        fail "$what: vector_add works" "$said"
    else
        contains "$what: vector_add says so" "$pattern" "$said"
    fi
}

diagnose_old_libc() {
    local old=$HOME/old_libc libc
    cp -a "$rootfs" "$old" || return 1
    libc=$(find "$old/usr/lib" -name libc.so.6 | sed -n 1p)
    LC_ALL=C sed -i 's/GLIBC_2\.34/GLIBC_0.00/g' "$(realpath "$libc")"
    diagnoses "old C library" version_not_found "${libc#"$old"}" --rootfs "$old" -- /usr/bin/vector_add
    fails_as "old C library" "GLIBC_2.34' not found" "$setup" --nv --rootfs "$old" --
}

diagnose_stale_libcuda() {
    local stale=$HOME/stale_libcuda
    cp -a "$rootfs" "$stale" && put_stale_driver "$stale/opt/driver" || return 1
    diagnoses "stale libcuda" library_shadowed /opt/driver/libcuda.so.1 --rootfs "$stale" \
        --request-env LD_LIBRARY_PATH=/opt/driver -- /usr/bin/vector_add
    fails_as "stale libcuda" . "$setup" --nv --rootfs "$stale" --setenv LD_LIBRARY_PATH=/opt/driver --
}

diagnose_hidden_gpus() {
    diagnoses "CUDA_VISIBLE_DEVICES is empty" gpus_hidden CUDA_VISIBLE_DEVICES --rootfs "$rootfs" \
        --request-env CUDA_VISIBLE_DEVICES= -- /usr/bin/vector_add
    fails_as "CUDA_VISIBLE_DEVICES is empty" "no CUDA-capable device|NO_DEVICE|100" \
        "$setup" --nv --rootfs "$rootfs" -- /usr/bin/env CUDA_VISIBLE_DEVICES=
}

# In a mount namespace of its own, with the capabilities to mount there.
diagnose_missing_proc() {
    local bare=$HOME/no_proc state
    mapfile -t state < <(state_options)
    cp -a "$rootfs" "$bare" && rmdir "$bare/proc" || return 1
    mount --bind "$bare" "$bare"
    diagnoses "no /proc" proc_missing /proc --rootfs "$bare" -- /usr/bin/vector_add
    succeeds "no /proc: apply" "$setup" --nv --rootfs "$bare" "${state[@]}"
    fails_as "no /proc" "OPERATING_SYSTEM|304|operating system" chroot "$bare"
    succeeds "no /proc: undo" "$setup" undo --rootfs "$bare" "${state[@]}"
    umount -l "$bare"
}

# The nodes of all GPUs are taken from a container that runs.
diagnose_withheld_node() {
    local state node pid first
    mapfile -t state < <(state_options)
    mount --bind "$rootfs" "$rootfs"
    mount --rbind /proc "$rootfs/proc"
    succeeds "withheld node: apply" "$setup" --nv --rootfs "$rootfs" "${state[@]}"
    chroot "$rootfs" /usr/bin/sleep 60 &
    pid=$!
    until [ "$(readlink "/proc/$pid/root")" = "$rootfs" ]; do
        sleep 0.1
    done
    exits "withheld node: before, check says nothing" 0 "$setup" check --nv --pid "$pid"
    first=$(nodes_of "$(uuid_at 0)")
    for node in $(nodes_of "$(all_uuids)"); do
        umount "$rootfs$node"
    done
    diagnoses "withheld node" node_forbidden "$first" --pid "$pid"
    fails_as "withheld node" . chroot "$rootfs"
    kill "$pid"
    wait "$pid" 2>/dev/null
    succeeds "withheld node: undo" "$setup" undo --rootfs "$rootfs" "${state[@]}"
    umount -l "$rootfs"
}

phase_diagnosis() {
    exits "check of this host" 0 "$setup" check --nv --node
    exits "check of a container that works" 0 "$setup" check --nv --rootfs "$rootfs" -- /usr/bin/vector_add
    print_times "check --node" "$setup" check --nv --node
    print_times "check of a program" "$setup" check --nv --rootfs "$rootfs" -- /usr/bin/vector_add
    diagnose_old_libc || fail "old C library: make the image"
    diagnose_stale_libcuda || fail "stale libcuda: make the image"
    diagnose_hidden_gpus
}

phase_diagnosis_of_mounts() {
    diagnose_missing_proc || fail "no /proc: make the image"
    [ "$who" != root ] || diagnose_withheld_node
}
