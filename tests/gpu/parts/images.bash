# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Images made for CUDA: their environment, and libraries of another driver in them.

stale_version=470.256.02

# What the images of CUDA say about themselves.
image_environment=(
    LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64
    PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    CUDA_VERSION=12.4.1
    NVIDIA_VISIBLE_DEVICES=all
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
    "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471"
)

# put_stale_driver DIRECTORY
put_stale_driver() {
    local name
    mkdir -p "$1" || return 1
    for name in libcuda.so libnvidia-ml.so; do
        cp "$bundle/stale/$name.$stale_version" "$1/" || return 1
        ln -sf "$name.$stale_version" "$1/$name.1" || return 1
    done
}

# In $HOME, from its root file system: an image of CUDA with the libraries of its
# compatibility package, and one that has a whole old driver besides, which its
# loader cache names.
make_images() {
    local cuda=$HOME/cuda stale=$HOME/stale libc
    cp -a "$rootfs" "$cuda" && put_stale_driver "$cuda/usr/local/cuda/compat" \
        && cp -a "$cuda" "$stale" || return 1
    libc=$(find "$stale/usr/lib" -name libc.so.6 | sed -n 1p)
    put_stale_driver "${libc%/*}" || return 1
    put_stale_driver "$stale/usr/local/nvidia/lib64" || return 1
    printf '#!/bin/sh\necho "nvidia-smi of the image"\nexit 1\n' >"$stale/usr/bin/nvidia-smi"
    chmod 755 "$stale/usr/bin/nvidia-smi"
    echo /usr/local/cuda/compat >"$stale/etc/ld.so.conf.d/000_compat.conf"
    ldconfig -X -r "$stale" && rm -rf "$stale/var/cache/ldconfig"
}

phase_images() { make_images || fail "make images"; }

# Like phase_apply, in a mount namespace of its own.
phase_image_apply() {
    local image root before state last container
    mapfile -t state < <(state_options)
    last=$(($(gpu_count) - 1))
    for image in cuda stale; do
        root=$HOME/$image
        container=(chroot "$root" /usr/bin/env "${image_environment[@]}")
        before=$(snapshot "$root")
        mount --bind "$root" "$root"
        mount --rbind /proc "$root/proc"
        succeeds "$image image, apply --device $last,0" \
            "$setup" --nv --rootfs "$root" "${state[@]}" --device "$last,0"
        check_gpus "$image image, apply" "$(sorted_uuids $last 0)" "${container[@]}"
        check_libraries "$image image, apply" "${container[@]}"
        succeeds "$image image, undo" "$setup" undo --rootfs "$root" "${state[@]}"
        umount -l "$root"
        same "$image image, undo: the root file system is as before" "$before" "$(snapshot "$root")"
    done
}

# -- CMD; the options win over what the image asks for.
phase_image_run() {
    local image root before backend last one container
    last=$(($(gpu_count) - 1))
    for image in cuda stale; do
        root=$HOME/$image
        before=$(snapshot "$root")
        for backend in $(backends); do
            container=("$setup" --nv --rootfs "$root" --backend "$backend" --device "$last")
            for one in "${image_environment[@]}"; do
                container+=(--setenv "$one")
            done
            check_choice "$image image, -- CMD, $backend" "$(uuid_at $last)" "$(uuid_at $last)" \
                "${container[@]}" --
            check_libraries "$image image, -- CMD, $backend" "${container[@]}" --
        done
        same "$image image, -- CMD: the root file system is as before" \
            "$before" "$(snapshot "$root")"
    done
}
