# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# The machine's own PyTorch, JAX, CuPy, Triton and numba, in a root file system that is the machine
# without its driver.

frameworks=(torch jax cupy triton numba)

has_module() { python3 -c "import importlib.util as u; raise SystemExit(u.find_spec('$1') is None)" 2>/dev/null; }

# framework_environment: for a user without a home, and without memory that others need
framework_environment() {
    printf '%s\n' "HOME=$1" "TRITON_CACHE_DIR=$1/triton" "CUPY_CACHE_DIR=$1/cupy" \
        "XLA_PYTHON_CLIENT_PREALLOCATE=false"
}

# The machine as an overlay at $1, in a private mount namespace. An overlay has no mounts of the
# machine, so a driver that is mounted is not there. Other files of the driver are taken away.
make_machine_without_driver() {
    local root=$1 file
    mount -t tmpfs tmpfs "$root" && mkdir "$root"/{upper,work,machine} || return 1
    mount -t overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" overlay "$root/machine" \
        || return 1
    find "$root/machine/usr" "$root/machine/etc" -xdev \( -name "*.so.$version" -o -name 'libcuda.so*' \
        -o -name 'libnvidia-*.so*' -o -name nvidia-smi \) -not -path '*/stubs/*' -delete 2>/dev/null
    rm -f "$root/machine/etc/ld.so.cache"
    chroot "$root/machine" ldconfig 2>/dev/null
    file=$(find "$root/machine/usr" -xdev -name 'libcuda.so.1' -not -path '*/stubs/*' -not -path '*/compat/*' | sed -n 1p)
    [ -z "$file" ] || fail "machine without its driver" "$file is there"
}

# check_frameworks MACHINE PREFIX...: as the user that PREFIX changes to
check_frameworks() {
    local machine=$1 name home=/tmp/frameworks-$who environment one options
    shift
    mkdir -p "$machine$home" "$home" && chmod 777 "$machine$home" "$home"
    cp "$work"/frameworks/*.py "$machine$home/" && cp "$work"/frameworks/*.py "$home/" || return 1
    mapfile -t environment < <(framework_environment "$home")
    options=()
    for one in "${environment[@]}"; do
        options+=(--setenv "$one")
    done
    for name in "${frameworks[@]}"; do
        if ! has_module "$name"; then
            skip "$name: not on this machine"
            continue
        fi
        if ! "$@" env "${environment[@]}" python3 "$home/use_$name.py" >"$home/outside" 2>"$home/errors"; then
            skip "$name: fails outside: $(tail -n 1 "$home/errors")"
            continue
        fi
        same "$name as outside: $(paste -sd';' "$home/outside")" "$(cat "$home/outside")" \
            "$("$@" "$setup" --nv --rootfs "$machine" "${options[@]}" -- \
                "$(command -v python3)" "$home/use_$name.py" 2>"$home/errors" || tail -n 5 "$home/errors")"
    done
    rm -rf "$home"
}

# As root, in a mount namespace of its own.
phase_frameworks() {
    local root=$work/machine
    [ "$simulated" -eq 0 ] && command -v python3 >/dev/null || return 0
    mkdir -p "$root"
    make_machine_without_driver "$root" || { fail "make the machine without its driver"; return; }
    contains "the machine without its driver has no libcuda" 'No such file|cannot open' \
        "$(chroot "$root/machine" "$(command -v python3)" -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>&1)"
    who=root check_frameworks "$root/machine"
    who=user check_frameworks "$root/machine" setpriv "--reuid=$user" "--regid=$user" --clear-groups \
        --inh-caps=-all
    umount -l "$root"
}
