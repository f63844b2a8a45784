// SPDX-License-Identifier: MIT
#include "elf/ld_cache_writer.hpp"
#include "export/json.hpp"
#include "journal/journal.hpp"
#include "unit/drivers/gpu_code_image.hpp"
#include "unit/elf/cache_image.hpp"
#include "unit/elf/elf_image.hpp"
#include "unit/image/made_tar.hpp"
#include "unit/linking/elf_library.hpp"
#include "unit/plan/driver_stack.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

/// Seeds that are no text, or that our own writers know best how to write: so
/// that they stay what is written.
namespace gpucontainer {
namespace {

class Folder {
public:
    explicit Folder(std::filesystem::path path) : path_(std::move(path))
    {
        std::filesystem::create_directories(path_);
    }

    void write(const char* name, std::string_view content) const
    {
        std::ofstream(path_ / name, std::ios::binary) << content;
    }

private:
    std::filesystem::path path_;
};

std::string merged_cache()
{
    test::CacheImage image;
    image.add("libz.so.1", "/usr/lib/libz.so.1");
    image.add("libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1");
    const auto old = elf::LdCache::parse(image.bytes());
    const auto merged =
        elf::merge(&*old, {{"libcuda.so.1", "/usr/lib/gpuctr/libcuda.so.580.1"},
                           {"libnvidia-ml.so.1", "/usr/lib/gpuctr/libnvidia-ml.so.1"}});
    return merged->bytes;
}

std::string cache_with_directories()
{
    constexpr std::uint64_t first_directory = std::uint64_t{1} << 62U;
    test::CacheImage image;
    image.add("libm.so.6", "/lib/glibc-hwcaps/x86-64-v3/libm.so.6", elf::native_cache_flags,
              first_directory);
    image.add("libm.so.6", "/lib/libm.so.6");
    const auto name = image.string("x86-64-v3");
    const auto strings =
        static_cast<std::uint32_t>(sizeof image.header + image.entries.size() * 24);
    const auto end = static_cast<std::uint32_t>((image.bytes().size() + 3) / 4 * 4);
    return image.bytes_with_extensions(
        {elf::format::extension_magic, 1, elf::format::hwcaps_tag, 0, end + 24, 4, strings + name});
}

/// In the older format alone, and in front of the newer one.
std::string old_cache(bool alone)
{
    elf::format::OldHeader header = {};
    std::ranges::copy(elf::format::old_magic, header.magic.begin());
    header.count = 1;
    const elf::format::OldEntry entry = {elf::native_cache_flags, 0, 10};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(reinterpret_cast<const char*>(&entry), sizeof entry);
    if (alone)
        return bytes + std::string("libz.so.1\0/lib/libz.so.1\0", 25);
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return bytes + merged_cache();
}

void write_caches(const Folder& folder)
{
    folder.write("merged", merged_cache());
    folder.write("directories", cache_with_directories());
    folder.write("old", old_cache(true));
    folder.write("both", old_cache(false));
    folder.write("empty", test::CacheImage().bytes());
}

template <typename Types>
std::string library()
{
    test::ElfImage<Types> image;
    image.add(DT_SONAME, image.string("libcuda.so.1"));
    image.add(DT_NEEDED, image.string("libc.so.6"));
    image.add(DT_NEEDED, image.string("libm.so.6"));
    image.add(DT_RUNPATH, image.string("$ORIGIN/../lib:/usr/lib"));
    return image.bytes();
}

std::string program_file()
{
    test::ElfImage<> image;
    image.add(DT_NEEDED, image.string("libc.so.6"));
    const auto interpreter = image.string("/lib64/ld-linux-x86-64.so.2");
    image.header.e_type = ET_EXEC;
    std::string bytes = image.bytes();
    Elf64_Phdr segment = {};
    segment.p_type = PT_INTERP;
    segment.p_offset = test::ElfImage<>::strings_offset + interpreter;
    segment.p_filesz = 28;
    std::memcpy(bytes.data() + sizeof image.header + 2 * sizeof segment, &segment, sizeof segment);
    bytes[offsetof(Elf64_Ehdr, e_phnum)] = 3;
    return bytes;
}

program::ProgramBuilder some_program()
{
    program::ProgramBuilder builder;
    builder.add(program::Step::make_directory, "/usr/lib/gpuctr").done = 1;
    builder.add(program::Step::make_link, "/usr/lib/libcuda.so.1", "gpuctr/libcuda.so.1").done = 1;
    builder.add(program::Step::make_file, "/etc/ld.so.conf.d/gpuctr.conf", "/usr/lib/gpuctr\n");
    builder.add(program::Step::replace_file, "/etc/ld.so.cache").expected = {1, 2, 3, 4};
    return builder;
}

std::string journal()
{
    journal::Journal journal;
    journal.root = {64, 4711, 1'700'000'000'000'000'000};
    journal.key = {{4026531841, "00000000-0000-4000-8000-000000000000"}, 42, journal.root.birth_ns};
    journal.root_path = "/var/lib/image";
    journal.since = 1'700'000'000;
    journal.progress = journal::Progress::complete;
    journal.writes_root = true;
    journal.tree_path = "/usr/lib/gpuctr";
    model::Gpu gpu;
    gpu.uuid = "GPU-0";
    gpu.pci_address = "0000:06:00.0";
    gpu.model = "NVIDIA H200";
    gpu.minor = 0;
    journal.drivers = {{"nvidia", "580.159.04", model::VersionSource::module, {gpu}}};
    auto builder = some_program();
    builder.add(program::Step::mount, "/usr/lib/gpuctr").mount_id = 42;
    builder.add(program::Step::overlay, "/usr").done = 1;
    const auto block = std::move(builder).build();
    return to_text(journal, program::Program(block.get()));
}

std::string program_block()
{
    auto builder = some_program();
    const auto fd = builder.keep(base::UniqueFd());
    builder.add(program::Step::mount, "/usr/lib/gpuctr").fd = fd;
    const auto block = std::move(builder).build();
    const program::Program program(block.get());
    return {reinterpret_cast<const char*>(block.get()), program.header().size};
}

std::string host_record()
{
    model::DriverStack driver = test::make_driver();
    driver.library_directory = "/drv/lib";
    driver.missing_nodes = {test::make_node("/dev/nvidia1", 195, 1, 1)};
    driver.masks = {{"/proc/driver/nvidia/params", "A: 1\n", "a reason"},
                    {"/proc/driver/nvidia/capabilities", "", "another reason", true},
                    {"/proc/driver/nvidia/gpus", "", "a third", true, {{"a/b", 0, false}}, false}};
    driver.findings = {
        {model::FindingCode::library_missing, "libx.so", "something does not work", "",
         "install it", model::Capability::compute},
        {model::FindingCode::file_unusable, "libx.so", "is for i386", "/drv/lib/libx.so"}};
    const std::vector<detect::Mark> marks = {{"/etc/ld.so.cache", "missing"}};
    return exports::host_to_json({&driver, 1}, driver.findings, marks);
}

/// A SIF with one object: a partition with a root file system, the beginning of squashfs.
std::string image_file()
{
    constexpr std::size_t table = 128;
    constexpr std::size_t content = 1024;
    constexpr std::size_t size = 96;
    std::string sif(content + size, '\0');
    const auto put = [&](std::size_t at, std::initializer_list<unsigned> bytes) {
        for (const unsigned byte : bytes)
            sif[at++] = static_cast<char>(byte);
    };
    sif.replace(32, 9, "SIF_MAGIC");
    sif.replace(42, 2, "01");
    put(88, {1});                      // rows
    put(96, {table});                  // where they begin
    put(table, {0x04, 0x40, 0, 0, 1}); // a partition, in use
    put(table + 17, {content & 0xffU, content >> 8U});
    put(table + 25, {size});
    put(table + 201, {1, 0, 0, 0, 2}); // squashfs, the root file system
    sif.replace(content, 4, "hsqs");
    put(content + 28, {4}); // version
    put(content + 40, {size});
    return sif;
}

/// Archives of images, each less than the longest input that is tried.
void write_archives(const Folder& folder)
{
    using Tar = test::TarImage;
    const Tar lower = Tar()
                          .directory("usr/lib/")
                          .file("usr/lib/libx.so.1", "12345")
                          .link("lib", "usr/lib")
                          .hard_link("lib/liby.so", "usr/lib/libx.so.1");
    const Tar upper = Tar().file("lib/.wh.libx.so.1", "").file("lib/x/y", "z");
    const std::string config = R"({"config":{"Env":["A=b","LD_LIBRARY_PATH=/opt"]}})";
    const Tar docker = Tar()
                           .file("a/layer.tar", lower.open_end())
                           .file("b.tar", upper.open_end())
                           .link("c/layer.tar", "../a/layer.tar")
                           .file("c.json", config)
                           .file("manifest.json", R"([{"Config":"c.json","RepoTags":["x:1"],)"
                                                  R"("Layers":["c/layer.tar","b.tar"]}])");
    folder.write("docker", docker.open_end());

    const Tar forms = Tar()
                          .records(Tar::record("path", "lib/long") + Tar::record("size", "3"))
                          .file("short", "abc")
                          .add('L', "@", "long-name")
                          .add('K', "@", "../usr")
                          .link("opt", "short")
                          .records(Tar::record("GNU.sparse.realsize", "4096"))
                          .file(".wh..wh..opq", "map");
    folder.write("forms", Tar()
                              .file("l", forms.open_end())
                              .file("manifest.json", R"([{"Layers":["l"]}])")
                              .open_end());

    const std::string index =
        R"({"manifests":[{"digest":"sha256:m","platform":{"os":"linux","architecture":"amd64"}},)"
        R"({"digest":"sha256:n","platform":{"os":"linux","variant":"v1","architecture":"arm64"},)"
        R"("annotations":{"org.opencontainers.image.ref.name":"x"}},{"digest":"sha256:i",)"
        R"("mediaType":"application/vnd.oci.image.index.v1+json"}]})";
    const std::string manifest =
        R"({"config":{"digest":"sha256:c"},"layers":[{"digest":"sha256:l"}]})";
    const Tar oci = Tar()
                        .file("index.json", index)
                        .file("blobs/sha256/i", R"({"manifests":[]})")
                        .file("blobs/sha256/m", manifest)
                        .file("blobs/sha256/c", config)
                        .file("blobs/sha256/l", lower.open_end());
    folder.write("oci", oci.open_end());
}

void write_gpu_code(const Folder& folder)
{
    const std::string code = test::code_for({61, 90}, {90});
    folder.write("section", code + test::code_container(test::code_entry(16, 120, 8, 112)));
    folder.write("library", test::library_with_code(code));
    folder.write("relocatable", test::library_with("__nv_relfatbin", code));
}

/// An image with a program, its loader and two libraries, in the form of fuzz::Tree.
std::string linked_image(bool musl)
{
    const std::string loader = musl ? "lib/ld-musl-x86_64.so.1" : "lib64/ld-linux-x86-64.so.2";
    test::ElfLibrary app;
    app.interpreter = "/" + loader;
    app.needed = {"libd.so.1", "libc.so.6"};
    app.runpath = "$ORIGIN/opt:/opt/$LIB";
    app.symbols = {{"draw"}, {"missing"}};
    test::ElfLibrary library;
    library.soname = "libd.so.1";
    library.needed = {"libc.so.6", "libmissing.so.1"};
    library.versions = {{"libc.so.6", "GLIBC_2.34"}};
    library.symbols = {{"draw", true}};
    test::ElfLibrary libc;
    libc.soname = "libc.so.6";
    libc.defines = {"libc.so.6", "GLIBC_2.31"};
    std::string image = "/opt:/opt/lib\n";
    for (const auto& [path, content] : {std::pair("app", app.bytes()),
                                        {"lib/libd.so.1", library.bytes()},
                                        {"opt/libd.so.1", std::string()},
                                        {"usr/lib/libc.so.6", libc.bytes()},
                                        {"etc/ld.so.conf", std::string("include *.conf\n/opt\n")},
                                        {loader.c_str(), test::ElfLibrary().bytes()}})
        image += std::string("== ") + path + "\n" + content + "\n";
    return image;
}

void write_all(const std::filesystem::path& directory)
{
    write_gpu_code(Folder(directory / "gpu_code"));
    write_caches(Folder(directory / "ld_cache"));
    write_caches(Folder(directory / "ld_cache_merge"));

    const Folder elf(directory / "elf_facts");
    elf.write("library", library<test::Elf64>());
    elf.write("library-32", library<test::Elf32>());
    elf.write("program", program_file());

    for (const bool musl : {false, true})
        Folder(directory / "linking").write(musl ? "musl" : "glibc", linked_image(musl));
    Folder(directory / "host_record").write("host", host_record());
    write_archives(Folder(directory / "image_archive"));
    Folder(directory / "image_file").write("sif", image_file());
    Folder(directory / "journal").write("journal", journal());
    Folder(directory / "program").write("block", program_block());
}

} // namespace
} // namespace gpucontainer

/// usage: make_fuzz_seeds DIRECTORY
int main(int count, char** arguments)
{
    if (count != 2)
        return 2;
    gpucontainer::write_all(arguments[1]);
    return 0;
}
