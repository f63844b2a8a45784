// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "unit/layouts/layout_fixture.hpp"

#include <filesystem>

namespace gpucontainer {
namespace {

using ::testing::ElementsAre;

constexpr const char* store = "nix/store/aaaa-nvidia-x11-580.159.04-6.12";
constexpr const char* tools = "nix/store/bbbb-nvidia-x11-580.159.04-6.12-bin/bin";

/// NixOS: a directory of links to packages, no loader cache, no /usr/lib.
class NixosTest : public LayoutTest {
protected:
    NixosTest()
    {
        const std::string libraries = std::string(store) + "/lib";
        install_libraries(libraries);
        link_libraries(libraries);
        const std::string links = "nix/store/cccc-graphics-drivers/lib/";
        for (const auto& entry : std::filesystem::directory_iterator(tree_.at(libraries))) {
            const std::string name = entry.path().filename();
            tree_.link(links + name, base::format("/{}/{}", libraries, name));
        }
        tree_.link("run/opengl-driver", "/nix/store/cccc-graphics-drivers");
        tree_.link("run/current-system", "/nix/store/dddd-nixos-system");
        tree_.link("nix/store/dddd-nixos-system/sw/bin/nvidia-smi",
                   base::format("/{}/nvidia-smi", tools));
    }
};

TEST_F(NixosTest, HasItsDriverBelowRun)
{
    tree_.tool(std::string(tools) + "/nvidia-smi");

    expect_driver(detected(), base::format("/{}/lib", store),
                  base::format("/{}/nvidia-smi", tools));
}

TEST_F(NixosTest, KeepsToolsOutWhoseLoaderNoContainerHas)
{
    tree_.tool(std::string(tools) + "/nvidia-smi", test::native_machine,
               "/nix/store/eeee-glibc-2.40/lib/ld-linux.so.2");

    const auto driver = detected();

    expect_driver(driver, base::format("/{}/lib", store), "");
    EXPECT_THAT(skipped(driver, "nvidia-smi"),
                ElementsAre("ROOT/nix/store/dddd-nixos-system/sw/bin/nvidia-smi: is started by "
                            "/nix/store/eeee-glibc-2.40/lib/ld-linux.so.2, which containers do "
                            "not have"));
}

} // namespace
} // namespace gpucontainer
