// SPDX-License-Identifier: MIT
#include "commands/run_options.hpp"

#include "options/groups.hpp"

namespace gpuctr_cli {

void add_run_options(CLI::App& app, RunOptions& run)
{
    app.option_defaults()->group(for_command);
    app.add_option("--chdir", run.directory, "working directory of CMD")
        ->type_name("DIR")
        ->default_str("/");
    app.add_option("--setenv", run.variables, "set a variable for CMD; repeatable")
        ->type_name("NAME=VALUE");
    app.add_flag("--clean-env", run.clean_environment,
                 "give CMD none of the caller's variables but TERM and those that choose GPUs");
    app.add_option("--bind", run.binds,
                   "bind mount a directory or file of the host at DST, which has to exist in "
                   "DIR; repeatable")
        ->type_name("SRC[:DST[:ro]]");
    app.add_flag("--allow-setuid", run.allow_setuid,
                 "allow CMD to execute setuid programs with their privileges");
    app.add_flag("--writable-tmpfs", run.writable,
                 "let CMD write into the root file system of an image file; what it writes is "
                 "in memory and ends with CMD");
    app.add_flag("--no-verify", run.unverified,
                 "use a signed image file although its signatures are not checked");
}

} // namespace gpuctr_cli
