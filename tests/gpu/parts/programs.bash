# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Real programs, inside as outside: OpenCL, Vulkan, EGL with a frame that is read back, decoders and
# encoders, and the ways in which frameworks look for libcuda.

programs=(opencl_devices vulkan_devices egl_frame video_engines)

# The loaders of these programs look for the driver's manifests where distributions have them. A
# driver elsewhere, such as below /usr/local/nvidia, has to be named. LD_LIBRARY_PATH is for what
# the driver's libraries need.
make_outside_environment() {
    local library prefix
    library=$(ldconfig -p | awk '$1 == "libcuda.so.1" && /x86-64/ { print $NF; exit }')
    prefix=${library%/lib*}
    outside_environment=("LD_LIBRARY_PATH=$work/lib")
    mkdir -p "$work/vendors" && echo libnvidia-opencl.so.1 >"$work/vendors/nvidia.icd"
    [ -e /etc/OpenCL/vendors/nvidia.icd ] || outside_environment+=("OCL_ICD_VENDORS=$work/vendors/")
    [ -e /usr/share/vulkan/icd.d/nvidia_icd.json ] || [ -e /etc/vulkan/icd.d/nvidia_icd.json ] \
        || outside_environment+=("VK_DRIVER_FILES=$prefix/share/vulkan/icd.d/nvidia_icd.json"
            "VK_ICD_FILENAMES=$prefix/share/vulkan/icd.d/nvidia_icd.json")
    [ -e /usr/share/glvnd/egl_vendor.d/10_nvidia.json ] \
        || outside_environment+=("__EGL_VENDOR_LIBRARY_FILENAMES=$prefix/share/glvnd/egl_vendor.d/10_nvidia.json")
}

# What a program says, without the path of libcuda, which differs.
shown_by() { "$@" 2>&1 | grep -v '^libcuda '; }

# What they say outside of any container, in $work/outside.
record_programs() {
    local program
    make_outside_environment
    mkdir -p "$work/outside"
    for program in "${programs[@]}"; do
        if shown_by env "${outside_environment[@]}" "$work/bin/$program" >"$work/outside/$program"; then
            note "$program outside: $(paste -sd';' "$work/outside/$program")"
        else
            note "$program fails outside: $(paste -sd';' "$work/outside/$program")"
        fi
    done
    chmod -R a+rX "$work/outside"
}

# check_programs WHAT PREFIX...
check_programs() {
    local what=$1 program found
    shift
    [ "$simulated" -eq 0 ] || return 0
    for program in "${programs[@]}"; do
        same "$what: $program as outside" "$(cat "$work/outside/$program")" \
            "$(shown_by "$@" "/usr/bin/$program")"
    done
    found=$("$@" /usr/bin/find_driver 2>&1)
    same "$what: each way to look for libcuda finds that of the kernel module" "" \
        "$(grep -v "/libcuda\\.so\\.$version\$" <<<"$found")"
}

phase_programs() {
    local before last container=("$setup" --nv --rootfs "$rootfs")
    [ "$simulated" -eq 0 ] || return 0
    last=$(($(gpu_count) - 1))
    before=$(snapshot "$rootfs")
    check_programs "programs" "${container[@]}" --
    same "Vulkan, --device $last" "$(uuid_at $last)" \
        "$("${container[@]}" --device $last -- /usr/bin/vulkan_devices 2>&1 | grep -o 'GPU-[0-9a-f-]*')"
    same "EGL, --device $last: one GPU" 1 \
        "$("${container[@]}" --device $last -- /usr/bin/egl_frame 2>&1 | grep -c ': 0 pixels wrong$')"
    same "programs: the root file system is as before" "$before" "$(snapshot "$rootfs")"
}
