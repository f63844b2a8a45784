// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <dlfcn.h>
#include <memory>
#include <sqfs/compressor.h>
#include <sqfs/dir.h>
#include <sqfs/frag_table.h>
#include <sqfs/inode.h>
#include <sqfs/meta_reader.h>
#include <sqfs/super.h>

namespace gpucontainer::image {

/// The functions of libsquashfs, which is loaded when an image is to be read: programs that read
/// none do without it.
struct SquashFunctions {
    struct Close {
        void operator()(void* opened) const noexcept { (void)::dlclose(opened); }
    };

    std::unique_ptr<void, Close> library;
    decltype(&::sqfs_super_read) read_super = nullptr;
    decltype(&::sqfs_compressor_config_init) configure = nullptr;
    decltype(&::sqfs_compressor_create) create_compressor = nullptr;
    decltype(&::sqfs_meta_reader_create) create_meta_reader = nullptr;
    decltype(&::sqfs_meta_reader_read_inode) read_inode = nullptr;
    decltype(&::sqfs_readdir_state_init) begin_directory = nullptr;
    decltype(&::sqfs_meta_reader_readdir) read_directory = nullptr;
    decltype(&::sqfs_inode_get_file_size) file_size = nullptr;
    decltype(&::sqfs_inode_get_file_block_start) file_start = nullptr;
    decltype(&::sqfs_inode_get_frag_location) fragment_of = nullptr;
    decltype(&::sqfs_frag_table_create) create_fragments = nullptr;
    decltype(&::sqfs_frag_table_read) read_fragments = nullptr;
    decltype(&::sqfs_frag_table_lookup) find_fragment = nullptr;
    decltype(&::sqfs_free) free = nullptr;
};

/// Errors: requirement, if it is not installed.
Result<std::shared_ptr<const SquashFunctions>> load_squash_functions();

} // namespace gpucontainer::image
