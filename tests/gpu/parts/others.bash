# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Containers that other programs make: by the options that `plan --format` prints, by a configuration
# that `hook --stage precreate` edits, and by the name nvidia-container-cli. Each has a copy of the root
# file system, in which it may leave names.

copy_root() {
    rm -rf --one-file-system "$rootfs.others"
    cp -a "$rootfs" "$rootfs.others" && mkdir -p "$rootfs.others/proc" "$rootfs.others/dev"
}

# The options of bubblewrap and what plan prints for it are words of a shell.
in_bwrap() {
    local user=()
    [ "$who" = root ] || user=(--unshare-user --uid 0 --gid 0)
    eval "bwrap ${user[*]} --bind '$rootfs.others' / --dev /dev --proc /proc $planned \"\$@\""
}

in_shell() {
    local namespaces=(--mount)
    [ "$who" = root ] || namespaces+=(--map-root-user)
    # shellcheck disable=SC2016
    unshare "${namespaces[@]}" sh -c 'set -e
        mount --rbind /proc "$1/proc"
        eval "$planned"
        exec chroot "$@"' sh "$rootfs.others" "$@"
}

# in_front COMMAND...: set up by the name nvidia-container-cli, in a mount namespace of its own
in_front() {
    local namespaces=(--mount)
    [ "$who" = root ] || namespaces+=(--map-root-user)
    # shellcheck disable=SC2016
    unshare "${namespaces[@]}" sh -c 'set -e
        root=$1
        shift
        mount --bind "$root" "$root"
        mount --rbind /proc "$root/proc"
        "$work/nvidia-container-cli" configure --device="$devices" --compute --utility --no-cgroups "$root"
        exec chroot "$root" "$@"' sh "$rootfs.others" "$@"
}

# json_words WORD...: as strings of JSON
json_words() {
    local word
    for word in "$@"; do
        word=${word//\\/\\\\}
        word=${word//\"/\\\"}
        printf '"%s", ' "${word//$'\n'/\\n}"
    done | sed 's/, $//'
}

# write_config WORD...: a configuration of OCI, whose process runs the words
write_config() {
    cat <<EOF
{"ociVersion": "1.0.2", "root": {"path": "$rootfs.others"},
 "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "args": [$(json_words "$@")],
             "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "simulated=$simulated",
                     "NVIDIA_VISIBLE_DEVICES=$devices"]},
 "mounts": [{"destination": "/proc", "type": "bind", "source": "/proc", "options": ["rbind"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]}],
 "linux": {"namespaces": [{"type": "mount"}]}}
EOF
}

in_crun() {
    local bundle=$HOME/bundle namespace=()
    [ "$who" = root ] || namespace=(unshare --map-root-user)
    mkdir -p "$bundle" && write_config "$@" | "$setup" hook -q --stage precreate >"$bundle/config.json" || return
    # crun starts itself anew as a file of memory, which has no directory to find libraries from.
    XDG_RUNTIME_DIR=$HOME LD_LIBRARY_PATH=$work/lib "${namespace[@]}" crun --root "$HOME/crun" --cgroup-manager disabled run \
        --bundle "$bundle" others
}

# try_others WHAT FUNCTION: all GPUs compute; and with some, the others are not there
try_others() {
    local what=$1 container=$2 last output
    last=$(($(gpu_count) - 1))
    export planned='' devices
    for devices in all "$last"; do
        copy_root || { fail "$what" "no copy of the root file system" && return; }
        case $container in
        in_bwrap | in_shell) planned=$("$setup" plan -q --nv --device "$devices" --format "${container#in_}") ;;
        esac
        if ! output=$("$container" /usr/bin/true 2>&1); then
            skip "$what: does not run here: $(tail -n 1 <<<"$output")"
            return
        fi
        copy_root
        if [ "$devices" = all ]; then
            check_gpus "$what" "$(all_uuids)" "$container"
        else
            check_gpus "$what, GPU $last" "$(uuid_at "$last")" "$container"
        fi
    done
    rm -rf --one-file-system "$rootfs.others" "$HOME/bundle" "$HOME/crun"
}

phase_others() {
    local program
    export PATH=$work/bin:$PATH
    try_others "plan --format shell, chroot" in_shell
    try_others "nvidia-container-cli" in_front
    for program in bwrap crun; do
        command -v "$program" >/dev/null || { skip "$program: not here" && continue; }
        case $program in
        bwrap) try_others "plan --format bwrap" in_bwrap ;;
        crun) try_others "hook --stage precreate, crun" in_crun ;;
        esac
    done
}
