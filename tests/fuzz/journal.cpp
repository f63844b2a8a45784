// SPDX-License-Identifier: MIT
#include "apply/journal.hpp"

#include "apply/attach.hpp"
#include "apply/directory_times.hpp"
#include "apply/origin.hpp"
#include "apply/recovery.hpp"
#include "apply/undo.hpp"
#include "base/unique_fd.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/scratch.hpp"

#include <cstring>
#include <fcntl.h>
#include <string>

namespace gpucontainer::fuzz {
namespace {

bool is_same(const apply::SetUpKey& left, const apply::SetUpKey& right)
{
    return left.from.boot_id == right.from.boot_id
           && left.from.mount_namespace == right.from.mount_namespace
           && left.mount_id == right.mount_id && left.root_birth_ns == right.root_birth_ns;
}

void check_name(const apply::Journal& journal)
{
    const std::string name = apply::file_name(journal.key);
    demand(name.find('/') == std::string::npos, "a journal's name is that of a file");
    const auto key = apply::parse_file_name(name);
    demand(key && is_same(*key, journal.key), "a journal's name says which one it is");
}

void check_program(const apply::Journal& journal)
{
    const apply::Program program(journal.program.get());
    for (const apply::Operation& operation : program.operations()) {
        demand(*program.text(operation.path) == '/', "a path is absolute");
        demand(static_cast<std::uint32_t>(operation.step) <= apply::last_step, "a step is known");
        demand(operation.data + operation.data_size < program.header().size, "data is inside");
        demand(operation.fd == -1, "no journal has a descriptor");
    }
}

/// Looks at a root that has some names of every kind and no mount.
void look_at_root(apply::Journal& journal)
{
    static const Scratch scratch({"etc", "usr/lib/gpuctr"}, {"etc/ld.so.cache", "usr/lib/libc.so"});
    static const base::UniqueFd root(::open(scratch.path().c_str(), O_PATH | O_CLOEXEC));
    const apply::Program program(journal.program.get());
    (void)apply::is_intact(program, root.get());
    for (const apply::Operation& operation : program.operations())
        (void)apply::is_intact(program, operation, root.get());
    apply::Failure failure;
    (void)apply::adopt_mounts(journal, root.get(), failure);
    (void)apply::adopt_names(journal, root.get(), failure);
    for (const apply::Operation& operation : program.operations())
        demand(!is_mount(operation) || operation.mount_id != 0 || operation.done <= 1,
               "what was done is done or not");
    (void)apply::settle_times(program, root.get(), journal.changing_since, failure);
    apply::forget_lost_mounts(journal, apply::Origin::earlier_boot);
    demand(!journal.bound_on_itself, "no bind outlives a boot");
    for (const apply::Operation& operation : program.operations())
        demand(!is_mount(operation) || operation.done == 0, "no mount outlives a boot");
}

} // namespace

/// A journal, damaged or forged: read, written, and compared with a root.
void run(std::string_view input)
{
    auto journal = apply::from_text("fuzz", std::string(input));
    if (!journal)
        return;
    const std::string written = apply::to_text(*journal, apply::Program(journal->program.get()));
    const auto again = apply::from_text("fuzz", written);
    demand(again.has_value(), "what was read can be written");
    demand(apply::to_text(*again, apply::Program(again->program.get())) == written,
           "and is the same then");
    check_name(*journal);
    check_program(*journal);
    look_at_root(*journal);
}

} // namespace gpucontainer::fuzz
