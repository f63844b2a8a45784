# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Checks of a container, given as the prefix of a command that runs in it.

uuids_of_smi() { sed -n 's/.*(UUID: \(GPU-[0-9a-f-]*\)).*/\1/p'; }
# With or without sums, but never with wrong ones.
uuids_of_cuda() { sed -En 's/^GPU [0-9]+ .* (GPU-[0-9a-f-]+)(: 1048576 sums right)?$/\1/p'; }

# What a container shows of its GPUs; its arguments are those of vector_add.
# shellcheck disable=SC2016 # the container's shell expands it
show_gpus='find /dev -maxdepth 1 -name "nvidia[0-9]*" | sort
if [ "$simulated" -eq 1 ]; then
    type nvidia-smi
else
    nvidia-smi -L
    vector_add "$@"
fi'

# compare_gpus WHAT UUIDS CUDA_UUIDS SHOWN: exactly these GPUs were shown, CUDA's in
# the order of CUDA_UUIDS
compare_gpus() {
    local what=$1 right=1
    same "$what: nodes of $(wc -w <<<"$2") GPUs" "$(nodes_of "$2")" \
        "$(grep '^/dev/nvidia' <<<"$4")" || right=0
    if [ "$simulated" -eq 1 ]; then
        contains "$what: nvidia-smi is there" '^nvidia-smi is /' "$4"
        return
    fi
    same "$what: nvidia-smi -L" "$2" "$(uuids_of_smi <<<"$4")" || right=0
    same "$what: vector_add" "$3" "$(uuids_of_cuda <<<"$4")" || right=0
    [ $right -eq 1 ] || fail "$what: what was shown" "$4"
}

# check_gpus WHAT UUIDS PREFIX...: exactly these GPUs are there, and compute
check_gpus() {
    local what=$1 expected=$2
    shift 2
    compare_gpus "$what" "$expected" "$expected" "$("$@" /usr/bin/sh -c "$show_gpus" 2>&1)"
}

# check_choice WHAT UUIDS CUDA_UUIDS PREFIX...: the same, without computing
check_choice() {
    local what=$1 expected=$2 expected_of_cuda=$3
    shift 3
    compare_gpus "$what" "$expected" "$expected_of_cuda" \
        "$("$@" /usr/bin/sh -c "$show_gpus" sh --list 2>&1)"
}

# check_no_gpu WHAT PREFIX...
check_no_gpu() {
    local what=$1 output
    shift
    output=$("$@" /usr/bin/find /dev -maxdepth 1 -name 'nvidia[0-9]*' 2>&1)
    same "$what: no node of a GPU" "" "$output"
    [ "$simulated" -eq 0 ] || return 0
    output=$("$@" /usr/bin/env nvidia-smi -L 2>&1)
    same "$what: nvidia-smi -L" "" "$(uuids_of_smi <<<"$output")"
    exits "$what: vector_add fails and says so" 1 "$@" /usr/bin/vector_add
}

# Where the loader finds library $0 when no program names a path of its own.
# shellcheck disable=SC2016
find_library='IFS=:
for directory in $LD_LIBRARY_PATH; do
    [ ! -e "$directory/$0" ] || { echo "$directory/$0"; exit; }
done
ldconfig -p'

# check_libraries WHAT PREFIX...: the loader finds the libraries of this kernel module
check_libraries() {
    local what=$1 name path found loaded
    shift
    for name in libcuda.so libnvidia-ml.so; do
        path=$("$@" /usr/bin/sh -c "$find_library" $name.1 2>&1 \
            | awk -v name=$name.1 '/^\// || $1 == name { print $NF; exit }')
        exits "$what: $name.1 is $path, of the kernel module's version" 0 \
            "$@" /usr/bin/cmp "$path" "/usr/lib/gpuctr/lib64/$name.$version"
        if [ $name != libcuda.so ] || [ "$simulated" -eq 1 ]; then
            continue
        fi
        found=$("$@" /usr/bin/readlink -f "$path")
        loaded=$("$@" /usr/bin/vector_add --list 2>&1 | sed -n 's/^libcuda \(.*\), CUDA.*/\1/p')
        same "$what: vector_add loads it" "$found" "$loaded"
    done
}
