// SPDX-License-Identifier: MIT
#include "formats/formats.hpp"

namespace gpuctr_cli {

const std::vector<GivenFormat>& given_formats()
{
    static const std::vector<GivenFormat> formats = {
        {"docker", docker_options},
        {"podman", podman_options},
        {"bwrap", bwrap_options},
        {"apptainer", apptainer_options},
        {"singularity", apptainer_options},
        {"nspawn", nspawn_options},
        {"charliecloud", charliecloud_options},
        {"lxc", lxc_configuration},
        {"incus", incus_profile},
        {"enroot", enroot_options},
        {"shell", shell_script},
        {"env", environment_lines, false},
        {"paths", path_lines, false},
    };
    return formats;
}

} // namespace gpuctr_cli
