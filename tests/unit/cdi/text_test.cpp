// SPDX-License-Identifier: MIT
#include "cdi/text.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::cdi {
namespace {

TEST(CdiTextTest, WritesWhatThereIs)
{
    Specification specification;
    specification.version = "1.1.0";
    specification.kind = "a.com/b";
    specification.annotations = {{"x.y/z", "\u0085"}};
    Edits edits;
    edits.env = {"A=b", "C=d"};
    edits.nodes = {{"/dev/a", "/dev/b", "c", 1, 2, 0660, "r", 3, 4}};
    edits.net_devices = {{"eth1", "eth0"}};
    edits.mounts = {{"/a", "/b", {"ro"}, "none"}};
    edits.hooks = {{"createContainer", "/bin/h", {"h", "x"}, {"E=1"}, 5}};
    edits.rdt = {"clos", "L3", "MB", {"s"}, true};
    edits.additional_gids = {7};
    specification.devices = {{"d", {{"k", "v"}}, edits}};

    EXPECT_EQ(to_yaml(specification), R"(cdiVersion: "1.1.0"
kind: "a.com/b"
annotations:
  "x.y/z": "\u0085"
devices:
  - name: "d"
    annotations:
      "k": "v"
    containerEdits:
      env: ["A=b","C=d"]
      deviceNodes:
        - path: "/dev/a"
          hostPath: "/dev/b"
          type: "c"
          major: 1
          minor: 2
          fileMode: 432
          permissions: "r"
          uid: 3
          gid: 4
      netDevices:
        - hostInterfaceName: "eth1"
          name: "eth0"
      mounts:
        - hostPath: "/a"
          containerPath: "/b"
          options: ["ro"]
          type: "none"
      hooks:
        - hookName: "createContainer"
          path: "/bin/h"
          args: ["h","x"]
          env: ["E=1"]
          timeout: 5
      intelRdt:
        closID: "clos"
        l3CacheSchema: "L3"
        memBwSchema: "MB"
        schemata: ["s"]
        enableMonitoring: true
      additionalGids: [7]
)");
}

} // namespace
} // namespace gpucontainer::cdi
