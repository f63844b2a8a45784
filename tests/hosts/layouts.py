# SPDX-License-Identifier: MIT
"""Where distributions put NVIDIA's driver, for generate --layout.

Each is a function of the host and of one driver; add() calls it. A library has its
file and the link of its soname, as ldconfig makes it, and a line of the loader cache
where that distribution's cache has one.
"""

import dataclasses
import re

MULTIARCH = "/usr/lib/x86_64-linux-gnu"
# Of the other branch that Debian can have installed beside the main one.
TESLA, TESLA_VERSION = "tesla-535", "535.274.02"
X86_64, AARCH64, PPC64 = (f"ELF64\t{name}" for name in (
    "Advanced Micro Devices X86-64", "AArch64", "PowerPC64"))
STORE = "/nix/store/1a2b3c4d5e6f7g8h9i0jklmnopqrstuv"
BOTTLEROCKET = "/x86_64-bottlerocket-linux-gnu/sys-root"
# Whole file systems of hosts, as a program in a container of theirs sees them: a simulated host has
# no directories beside the machine's in its root directory.
NIXOS_ROOT, BOTTLEROCKET_ROOT, OPERATOR_ROOT = "/run/nixos", "/run/bottlerocket", "/run/nvidia/driver"
GRACE_ROOT, POWER_ROOT = "/run/grace", "/run/power"


@dataclasses.dataclass
class Layout:
    """A distribution whose driver lies in directories of its own."""

    libraries: str = MULTIARCH
    tools: str = "/usr/bin"
    root: str = ""       # of the driver's file system
    cached: bool = True  # the host's loader cache names the libraries
    add_more: object = None
    machine: str = X86_64
    loader: str = ""     # of another machine

    def add(self, host, sonames, tools, version):
        for soname in sonames:
            add_library(host, self.root + self.libraries, soname, version,
                        cached_in=self.libraries if self.cached else None, machine=self.machine)
        for name in tools:
            host.file(f"{self.root}{self.tools}/{name}", self.machine)
        if self.loader:
            host.file(self.root + self.loader, self.machine, needed="")
        if self.add_more:
            self.add_more(host, sonames, tools, version)


def file_name(soname, version):
    return re.sub(r"\.so\..*", f".so.{version}", soname)


def add_library(host, directory, soname, version, cached_in=None, machine=X86_64):
    name = file_name(soname, version)
    host.file(f"{directory}/{name}", machine, soname)
    if name != soname:
        host.link(f"{directory}/{soname}", name)
    if cached_in:
        host.cached(soname, f"{cached_in}/{soname}")


def add_alternative(host, path, name, target):
    host.link(path, f"/etc/alternatives/{name}")
    host.link(f"/etc/alternatives/{name}", target)


class Debian:
    """Through alternatives, and not all of it: libraries that have the version in their sonames lie
    in the multiarch directory, for all branches."""

    def add(self, host, sonames, tools, version):
        self.add_branch(host, "current", sonames, version)
        self.add_branch(host, TESLA, sonames, TESLA_VERSION)
        for soname in sonames:
            if version not in soname:
                add_alternative(host, f"{MULTIARCH}/{soname}", f"nvidia--{soname}-x86_64-linux-gnu",
                                f"{MULTIARCH}/nvidia/current/{soname}")
                host.cached(soname, f"/lib/x86_64-linux-gnu/{soname}")
        for name in tools:
            if "-mps-" in name:
                directory = "/usr/sbin" if name.endswith("server") else "/usr/bin"
                host.file(f"{directory}/{name}")
                continue
            add_alternative(host, f"/usr/bin/{name}", f"nvidia--{name}",
                            f"/usr/lib/nvidia/current/{name}")
            for branch in ("current", TESLA):
                host.file(f"/usr/lib/nvidia/{branch}/{name}")
        host.file("/usr/sbin/nvidia-powerd")

    @staticmethod
    def add_branch(host, branch, sonames, version):
        for soname in sonames:
            stem, _, number = soname.partition(".so.")
            if "." in number:
                add_library(host, MULTIARCH, f"{stem}.so.{version}", version,
                            cached_in="/lib/x86_64-linux-gnu")
            else:
                add_library(host, f"{MULTIARCH}/nvidia/{branch}", soname, version)


class NixOS:
    """In the store, with links in a profile for the driver, and without a loader cache."""

    def add(self, host, sonames, tools, version):
        package = f"{STORE}-nvidia-x11-{version}"
        for soname in sonames:
            add_library(host, f"{NIXOS_ROOT}{package}/lib", soname, version)
            host.link(f"{NIXOS_ROOT}/run/opengl-driver/lib/{soname}", f"{package}/lib/{soname}")
        for name in tools:
            host.file(f"{NIXOS_ROOT}{package}-bin/bin/{name}")
            host.link(f"{NIXOS_ROOT}/run/current-system/sw/bin/{name}",
                      f"{package}-bin/bin/{name}")


I386 = "ELF32\tIntel 80386"
# What the driver has for 32-bit programs: no tools, and no ray tracing, among others.
COMPAT32 = """libcuda.so.1 libnvidia-ml.so.1 libnvidia-ptxjitcompiler.so.1 libnvidia-nvvm.so.4
    libnvidia-gpucomp.so.{} libnvidia-allocator.so.1 libnvidia-opencl.so.1 libnvcuvid.so.1
    libnvidia-encode.so.1 libGLX_nvidia.so.0 libEGL_nvidia.so.0 libnvidia-glcore.so.{}
    libnvidia-eglcore.so.{} libnvidia-glsi.so.{} libnvidia-tls.so.{}""".split()


def add_32bit(directory):
    """In /usr/lib where 64-bit libraries are in /usr/lib64, else in a directory of their own."""
    def add_to(host, _sonames, _tools, version):
        for soname in COMPAT32:
            host.library(directory, soname.format(version), version, machine=I386)
        host.file(f"{directory}/vdpau/libvdpau_nvidia.so.{version}", I386, "libvdpau_nvidia.so.1")
    return add_to


# What the distribution builds: the library, what it needs, and how new a C library.
LOADERS = (("libGLdispatch.so.0", "", "2.34"), ("libEGL.so.1", "libGLdispatch.so.0", "2.34"),
           ("libOpenGL.so.0", "libGLdispatch.so.0", "2.2.5"),
           ("libGLESv1_CM.so.1", "libGLdispatch.so.0", "2.2.5"),
           ("libGLESv2.so.2", "libGLdispatch.so.0", "2.2.5"),
           ("libGLX.so.0", "libGLdispatch.so.0,libX11.so.6", "2.34"),
           ("libGL.so.1", "libGLdispatch.so.0,libGLX.so.0", "2.2.5"),
           ("libvulkan.so.1", "", "2.34"), ("libOpenCL.so.1", "", "2.2.5"))


def add_loaders(host, _sonames, _tools, _version):
    """In a file system of their own, where this machine has none."""
    directory = OPERATOR_ROOT + MULTIARCH
    for soname, needed, newest in LOADERS:
        name = f"{directory}/{soname}.0.0"
        host.file(name, soname=soname, needed=f"{needed},libc.so.6".lstrip(","),
                  versions=f"GLIBC_2.2.5,GLIBC_{newest}")
        host.link(f"{directory}/{soname}", f"{soname}.0.0")


def add_uncached_32bit(host, sonames, _tools, version):
    """Ubuntu's. What the loader cache does not name lies beside what it names; another driver's
    libraries lie there too."""
    add_32bit("/usr/lib/i386-linux-gnu")(host, sonames, _tools, version)
    host.file(f"/usr/lib/i386-linux-gnu/libnvidia-fbc.so.{version}", I386, "libnvidia-fbc.so.1")
    host.file(f"/usr/lib/i386-linux-gnu/libnvidia-ngx.so.{TESLA_VERSION}", I386,
              "libnvidia-ngx.so.1")


def add_system_link(host, _sonames, _tools, _version):
    host.link(f"{BOTTLEROCKET_ROOT}/usr", f".{BOTTLEROCKET}/usr")


def add_guest_services(host, _sonames, _tools, _version):
    """What the driver of a virtual GPU has besides, in the virtual machine."""
    for name in ("nvidia-gridd", "nvidia-topologyd"):
        host.file(f"/usr/bin/{name}")
    host.file("/etc/nvidia/gridd.conf", machine="")
    host.file("/etc/nvidia/ClientConfigToken/client_configuration_token.tok", machine="")


LAYOUTS = {
    "arch": Layout("/usr/lib", add_more=add_32bit("/usr/lib32")),
    "bottlerocket": Layout(f"{BOTTLEROCKET}/usr/lib/nvidia/tesla",
                           f"{BOTTLEROCKET}/usr/libexec/nvidia/tesla/bin",
                           root=BOTTLEROCKET_ROOT, cached=False, add_more=add_system_link),
    "debian": Debian(),
    "grace": Layout("/usr/lib/aarch64-linux-gnu", root=GRACE_ROOT, cached=False, machine=AARCH64,
                    loader="/lib/ld-linux-aarch64.so.1"),
    "flatcar": Layout("/opt/nvidia/current/usr/lib64", "/opt/bin", cached=False),
    "nixos": NixOS(),
    "operator": Layout(root=OPERATOR_ROOT, cached=False, add_more=add_loaders),
    "rhel": Layout("/usr/lib64", add_more=add_32bit("/usr/lib")),
    "power": Layout("/usr/lib64", root=POWER_ROOT, cached=False, machine=PPC64,
                    loader="/lib64/ld64.so.2"),
    "suse": Layout("/usr/lib64"),
    "talos": Layout("/usr/local/glibc/lib", "/usr/local/bin", cached=False),
    "ubuntu": Layout(add_more=add_uncached_32bit),
    "vgpu-guest": Layout(add_more=add_guest_services),
}


def add(host, layout, sonames, tools, version):
    layout.add(host, sonames, tools, version)
