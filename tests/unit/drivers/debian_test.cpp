// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "unit/drivers/user_space_fixture.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::drivers::nvidia {
namespace {

/// Debian 12: most of the driver lies in nvidia/current and is reached through
/// /etc/alternatives, the rest lies in the multiarch directory itself.
class DebianUserSpaceTest : public UserSpaceTest {
protected:
    DebianUserSpaceTest()
    {
        tree_.link("lib", "usr/lib");
        tree_.link("bin", "usr/bin");
        tree_.file("etc/ld.so.conf", "/usr/local/lib\n/" + multiarch.substr(4) + "\n");
        for (const char* soname : {"libcuda.so.1", "libnvidia-ml.so.1", "libnvcuvid.so.1"}) {
            install(current, soname);
            alternative("/" + multiarch + "/" + soname,
                        base::format("nvidia--{}-{}", soname, elf::own_machine().multiarch),
                        "/" + std::string(current) + "/" + soname);
        }
        tree_.link(current + std::string("/libcuda.so"), "libcuda.so.1");
        tree_.library(multiarch + "/libnvidia-glcore.so.535.183.01",
                      "libnvidia-glcore.so.535.183.01");
        install(multiarch, "libnvidia-nvvm.so.4");
        tree_.tool("usr/lib/nvidia/current/nvidia-smi");
        alternative("/usr/bin/nvidia-smi", "nvidia--nvidia-smi",
                    "/usr/lib/nvidia/current/nvidia-smi");
    }

    void remember_all()
    {
        for (const char* soname : {"libcuda.so.1", "libnvidia-ml.so.1", "libnvcuvid.so.1",
                                   "libnvidia-glcore.so.535.183.01", "libnvidia-nvvm.so.4"})
            tree_.remember(soname, "/" + multiarch.substr(4) + "/" + soname);
    }

    const std::string current = multiarch + "/nvidia/current";

private:
    void alternative(const std::string& path, const std::string& name, const std::string& target)
    {
        tree_.link(path.substr(1), "/etc/alternatives/" + name);
        tree_.link("etc/alternatives/" + name, target);
    }
};

constexpr const char* smi_path = "ROOT/usr/lib/nvidia/current/nvidia-smi";

std::vector<std::string> debian_paths()
{
    const std::string current = "ROOT/" + multiarch + "/nvidia/current/";
    const std::string beside = "ROOT/" + multiarch + "/";
    return {current + "libcuda.so.535.183.01",         current + "libnvcuvid.so.535.183.01",
            beside + "libnvidia-glcore.so.535.183.01", current + "libnvidia-ml.so.535.183.01",
            beside + "libnvidia-nvvm.so.535.183.01",   smi_path};
}

TEST_F(DebianUserSpaceTest, IsFoundThroughItsAlternatives)
{
    remember_all();

    const UserSpace space = found();

    EXPECT_EQ(paths(space), debian_paths());
    EXPECT_EQ(names(space).front(), "libcuda.so.535.183.01 libcuda.so.1 libcuda.so");
    EXPECT_EQ(space.files.back().name, "nvidia-smi");
}

TEST_F(DebianUserSpaceTest, IsFoundWithoutALoaderCache)
{
    EXPECT_EQ(paths(found()), debian_paths());
}

TEST_F(DebianUserSpaceTest, IsFoundBesideADamagedLoaderCache)
{
    tree_.file("etc/ld.so.cache", "glibc-ld.so.cache1.1 and then nothing of use");

    EXPECT_EQ(paths(found()), debian_paths());
}

/// Beside the branch that the alternatives name, Debian can have others, whose libraries with a
/// version in their sonames lie in the multiarch directory.
TEST_F(DebianUserSpaceTest, IsTheBranchOfTheKernelModule)
{
    const std::string other = "535.274.02";
    for (const char* soname : {"libcuda.so.1", "libnvidia-ml.so.1"})
        install(multiarch + "/nvidia/tesla-535", soname, other);
    const std::string core = "libnvidia-glcore.so." + other;
    tree_.library(base::format("{}/{}", multiarch, core), core);
    tree_.tool("usr/lib/nvidia/tesla-535/nvidia-smi");
    remember_all();
    tree_.remember(core, "/" + multiarch.substr(4) + "/" + core);

    EXPECT_EQ(paths(found()), debian_paths());
    const std::string directory = "ROOT/" + multiarch + "/";
    EXPECT_EQ(paths(found(other)),
              (std::vector{directory + "nvidia/tesla-535/libcuda.so." + other, directory + core,
                           directory + "nvidia/tesla-535/libnvidia-ml.so." + other,
                           std::string("ROOT/usr/lib/nvidia/tesla-535/nvidia-smi")}));
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
