# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# How fast copies are outside of a container, inside, and inside as an ordinary user.

# bandwidth_sample WHERE GPUS: the lines of one process, WHERE first
bandwidth_sample() {
    local where=$1 container=("$setup" --nv --device "$2" --rootfs)
    case $where in
    outside) CUDA_VISIBLE_DEVICES=$2 "$work/bin/copy_bandwidth" ;;
    inside) env -u LD_LIBRARY_PATH "${container[@]}" "$work/root/rootfs" -- /usr/bin/copy_bandwidth ;;
    rootless)
        env -u LD_LIBRARY_PATH "HOME=$work/user" "${as_user[@]}" \
            "${container[@]}" "$work/user/rootfs" -- /usr/bin/copy_bandwidth
        ;;
    esac 2>&1 | sed "s/^/$where /"
}

# One place after another and again, each round from another one, so that what
# drifts, drifts for all.
bandwidth_samples() {
    local gpus=$1 round where places=(outside inside rootless)
    for ((round = 0; round < 6; ++round)); do
        for where in "${places[@]}"; do
            bandwidth_sample "$where" "$gpus"
        done
        places=("${places[@]:1}" "${places[0]}")
    done
}

# Copies from the host depend on the memory that they come from, so all of it is
# beside the first GPU.
run_beside_gpu() {
    local cpus
    cpus=$(cat "/sys/bus/pci/devices/$(address_at 0)/local_cpulist" 2>/dev/null)
    [ -z "$cpus" ] || taskset -pc "$cpus" $BASHPID >/dev/null
}

# The first and the last GPU: more would take long, and say the same.
measure_bandwidth() {
    local gpus line
    gpus=$(sorted_uuids 0 $(($(gpu_count) - 1)) | paste -sd,)
    (run_beside_gpu; bandwidth_samples "$gpus") >"$work/samples"
    same "bandwidth: no errors" "" "$(grep -E '(copy_bandwidth|gpuctr-setup):' "$work/samples")"
    note "bandwidth: GPUs counted from 0: $gpus"
    while IFS= read -r line; do
        case $line in
        \|*) printf '%s\n' "$line" ;;
        same\ *) ok "bandwidth: ${line#same }" ;;
        *) fail "bandwidth: $line" ;;
        esac
    done < <("$work/parts/bandwidth-table" "$work/samples")
    grep -q peer-to-peer "$work/samples" || note "bandwidth: no copies from GPU to GPU"
}
