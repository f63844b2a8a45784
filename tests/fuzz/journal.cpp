// SPDX-License-Identifier: MIT
#include "journal/journal.hpp"

#include "apply/journal_items.hpp"
#include "apply/recovery.hpp"
#include "apply/undo.hpp"
#include "base/unique_fd.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/scratch.hpp"
#include "journal/origin.hpp"
#include "program/directory_times.hpp"
#include "program/executor.hpp"

#include <cstring>
#include <fcntl.h>
#include <string>

namespace gpucontainer::fuzz {
namespace {

bool is_same(const journal::SetUpKey& left, const journal::SetUpKey& right)
{
    return left.from.boot_id == right.from.boot_id
           && left.from.mount_namespace == right.from.mount_namespace
           && left.mount_id == right.mount_id && left.root_birth_ns == right.root_birth_ns;
}

void check_name(const journal::Journal& journal)
{
    const std::string name = journal::file_name(journal.key);
    demand(name.find('/') == std::string::npos, "a journal's name is that of a file");
    const auto key = journal::parse_file_name(name);
    demand(key && is_same(*key, journal.key), "a journal's name says which one it is");
}

void check_program(const journal::Journal& journal)
{
    const program::Program program(journal.program.get());
    for (const program::Operation& operation : program.operations()) {
        demand(*program.text(operation.path) == '/', "a path is absolute");
        demand(static_cast<std::uint32_t>(operation.step) <= program::last_step, "a step is known");
        demand(operation.data + operation.data_size < program.header().size, "data is inside");
        demand(operation.fd == -1, "no journal has a descriptor");
    }
}

/// Looks at a root that has some names of every kind and no mount.
void look_at_root(journal::Journal& journal)
{
    static const Scratch scratch({"etc", "usr/lib/gpuctr"}, {"etc/ld.so.cache", "usr/lib/libc.so"});
    static const base::UniqueFd root(::open(scratch.path().c_str(), O_PATH | O_CLOEXEC));
    const program::Program program(journal.program.get());
    (void)program::is_intact(program, root.get());
    for (const program::Operation& operation : program.operations())
        (void)program::is_intact(program, operation, root.get());
    program::Failure failure;
    (void)apply::adopt_mounts(journal, root.get(), failure);
    (void)apply::adopt_names(journal, root.get(), failure);
    for (const program::Operation& operation : program.operations())
        demand(!is_mount(operation) || operation.mount_id != 0 || operation.done <= 1,
               "what was done is done or not");
    (void)program::settle_times(program, root.get(), journal.changing_since, failure);
    journal::forget_lost_mounts(journal, journal::Origin::earlier_boot);
    demand(!journal.bound_on_itself, "no bind outlives a boot");
    for (const program::Operation& operation : program.operations())
        demand(!is_mount(operation) || operation.done == 0, "no mount outlives a boot");
}

} // namespace

/// A journal, damaged or forged: read, written, and compared with a root.
void run(std::string_view input)
{
    auto journal = journal::from_text("fuzz", std::string(input));
    if (!journal)
        return;
    const std::string written =
        journal::to_text(*journal, program::Program(journal->program.get()));
    const auto again = journal::from_text("fuzz", written);
    demand(again.has_value(), "what was read can be written");
    (void)apply::items_of(*journal);
    demand(journal::to_text(*again, program::Program(again->program.get())) == written,
           "and is the same then");
    check_name(*journal);
    check_program(*journal);
    look_at_root(*journal);
}

} // namespace gpucontainer::fuzz
