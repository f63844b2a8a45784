// SPDX-License-Identifier: MIT
// A shell script, and plain lines.
#include "formats/formats.hpp"
#include "formats/quoting.hpp"
#include "output/format.hpp"

#include <set>

namespace gpuctr_cli {
namespace {

/// Links in the image are followed as the container would: a path given to mount(8) as it is could
/// lead out of the image.
constexpr const char* beginning = R"(#!/bin/sh
# Mounts GPUs into the root directory DIR of a container, in this mount namespace:
#     unshare --mount sh -c '. ./FILE; exec chroot "$1" COMMAND' sh DIR
# Nobody may change the image meanwhile.
set -eu
root=${1:?DIR is missing}
# Sets $place to where a path of the container is below $root.
find_place() {
    place='' rest=$1 links=0
    while [ -n "$rest" ]; do
        part=${rest%%/*}
        case $rest in */*) rest=${rest#*/} ;; *) rest='' ;; esac
        case $part in
        '' | .) ;;
        ..) place=${place%/*} ;;
        *)
            if [ ! -L "$root$place/$part" ]; then
                place=$place/$part
                continue
            fi
            links=$((links + 1))
            [ "$links" -le 40 ] || { echo "$root$1: too many links" >&2; exit 1; }
            to=$(readlink "$root$place/$part"; echo .)
            to=${to%??}
            case $to in /*) place='' ;; esac
            rest=$to${rest:+/$rest}
            ;;
        esac
    done
}
# give SOURCE TARGET OPTIONS
give() {
    find_place "$2"
    if [ -d "$1" ]; then
        mkdir -p -- "$root$place"
    else
        mkdir -p -- "$root${place%/*}"
        [ -e "$root$place" ] || : >"$root$place"
    fi
    mount --rbind -- "$1" "$root$place"
    [ -z "$3" ] || mount -o "remount,bind,$3" -- "$root$place"
}
)";

} // namespace

std::string shell_script(const Given& given, Notes& /*notes*/)
{
    std::string text = beginning;
    const auto give = [&](const std::string& source, const std::string& target,
                          const char* options) {
        text += formatted("give {} {} {}\n", shell_word(source), shell_word(target),
                          shell_word(options));
    };
    for (const GivenFile& file : given.files)
        give(file.source, file.target,
             file.may_execute ? "ro,nosuid,nodev" : "ro,nosuid,nodev,noexec");
    for (const GivenNode& node : given.nodes)
        give(node.source, node.target, "");
    for (const GivenVariable& variable : given.variables)
        text += variable.value
                    ? formatted("export {}={}\n", variable.name, shell_word(*variable.value))
                    : formatted("unset {}\n", variable.name);
    return text;
}

std::string environment_lines(const Given& given, Notes& notes)
{
    std::string text;
    for (const GivenVariable& variable : given.variables) {
        if (!variable.value) {
            notes.push_back(formatted("{} must not be set", variable.name));
            continue;
        }
        refuse(*variable.value, "\r\n", "a line NAME=VALUE");
        text += formatted("{}={}\n", variable.name, *variable.value);
    }
    return text;
}

std::string path_lines(const Given& given, Notes& /*notes*/)
{
    std::set<std::string> paths;
    for (const GivenFile& file : given.files)
        paths.insert(file.source);
    for (const GivenNode& node : given.nodes)
        paths.insert(node.source);
    std::string text;
    for (const std::string& path : paths) {
        refuse(path, "\n", "a list of lines");
        text += path + "\n";
    }
    return text;
}

} // namespace gpuctr_cli
