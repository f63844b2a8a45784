// SPDX-License-Identifier: MIT
#include "image/squash_functions.hpp"

#include "base/format.hpp"

#include <dlfcn.h>
#include <utility>

namespace gpucontainer::image {
namespace {

constexpr const char* library_name = "libsquashfs.so.1";

template <typename Function>
bool find(void* library, Function& function, const char* name)
{
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

bool find_all(SquashFunctions& functions)
{
    void* const library = functions.library.get();
    return find(library, functions.read_super, "sqfs_super_read")
           && find(library, functions.configure, "sqfs_compressor_config_init")
           && find(library, functions.create_compressor, "sqfs_compressor_create")
           && find(library, functions.create_meta_reader, "sqfs_meta_reader_create")
           && find(library, functions.read_inode, "sqfs_meta_reader_read_inode")
           && find(library, functions.begin_directory, "sqfs_readdir_state_init")
           && find(library, functions.read_directory, "sqfs_meta_reader_readdir")
           && find(library, functions.file_size, "sqfs_inode_get_file_size")
           && find(library, functions.file_start, "sqfs_inode_get_file_block_start")
           && find(library, functions.fragment_of, "sqfs_inode_get_frag_location")
           && find(library, functions.create_fragments, "sqfs_frag_table_create")
           && find(library, functions.read_fragments, "sqfs_frag_table_read")
           && find(library, functions.find_fragment, "sqfs_frag_table_lookup")
           && find(library, functions.free, "sqfs_free");
}

} // namespace

Result<std::shared_ptr<const SquashFunctions>> load_squash_functions()
{
    auto functions = std::make_shared<SquashFunctions>();
    functions->library.reset(::dlopen(library_name, RTLD_NOW | RTLD_LOCAL));
    if (!functions->library || !find_all(*functions)) {
        const char* const why = ::dlerror();
        return Error(Errc::requirement,
                     base::format("read an image: {}", why != nullptr ? why : library_name))
            .with_object(library_name)
            .with_hint("install it (libsquashfs1, squashfs-tools-ng), or name a directory");
    }
    return std::shared_ptr<const SquashFunctions>(std::move(functions));
}

} // namespace gpucontainer::image
