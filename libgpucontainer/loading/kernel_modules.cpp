// SPDX-License-Identifier: MIT
#include "loading/kernel_modules.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "loading/install_command.hpp"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <libkmod.h>
#include <memory>
#include <optional>

namespace gpucontainer::loading {
namespace {

constexpr const char* library_name = "libkmod.so.2";
constexpr unsigned most_levels = 8; ///< Of install commands that call modprobe for each other.

struct Close {
    void operator()(void* library) const noexcept { (void)::dlclose(library); }
};

/// The functions of libkmod that are used.
class Library {
public:
    static Result<Library> open()
    {
        Library library;
        library.handle_.reset(::dlopen(library_name, RTLD_NOW | RTLD_LOCAL));
        if (!library.handle_ || !library.find_all())
            return Error(Errc::requirement, base::format("load kernel modules: {}", ::dlerror()))
                .with_object(library_name)
                .with_hint("install it (libkmod2, kmod-libs), or load the modules with modprobe");
        return library;
    }

    decltype(&::kmod_new) create = nullptr;
    decltype(&::kmod_unref) unref = nullptr;
    decltype(&::kmod_set_log_fn) set_log = nullptr;
    decltype(&::kmod_module_new_from_lookup) look_up = nullptr;
    decltype(&::kmod_module_unref_list) unref_list = nullptr;
    decltype(&::kmod_module_get_module) module_of = nullptr;
    decltype(&::kmod_module_unref) unref_module = nullptr;
    decltype(&::kmod_list_next) next = nullptr;
    decltype(&::kmod_module_probe_insert_module) insert = nullptr;

private:
    template <typename Function>
    bool find(Function& function, const char* name)
    {
        function = reinterpret_cast<Function>(::dlsym(handle_.get(), name));
        return function != nullptr;
    }
    bool find_all()
    {
        return find(create, "kmod_new") && find(unref, "kmod_unref")
               && find(set_log, "kmod_set_log_fn") && find(look_up, "kmod_module_new_from_lookup")
               && find(unref_list, "kmod_module_unref_list")
               && find(module_of, "kmod_module_get_module")
               && find(unref_module, "kmod_module_unref") && find(next, "kmod_list_next")
               && find(insert, "kmod_module_probe_insert_module");
    }

    std::unique_ptr<void, Close> handle_;
};

/// It writes to standard error otherwise.
void say_nothing(void* /*data*/, int /*priority*/, const char* /*file*/, int /*line*/,
                 const char* /*function*/, const char* /*format*/, va_list /*arguments*/)
{
}

Error not_found(const std::string& name)
{
    return Error(Errc::no_device, base::format("load kernel module {}: no such module", name))
        .with_object(name)
        .with_hint("install the driver's module for the running kernel; after an update of the "
                   "kernel it may have to be built, or the machine to be rebooted");
}

const char* hint_for(int error)
{
    switch (error) {
    case ENOKEY:
    case EKEYREJECTED:
        return "with secure boot the kernel takes signed modules only";
    case EPERM:
        return "CAP_SYS_MODULE is needed in the initial user namespace, and "
               "kernel.modules_disabled "
               "must be 0";
    case ENODEV:
        return "the module found no GPU that it can have: another driver may have it "
               "(`gpuctr-setup list -v`)";
    case ENOEXEC:
    case EINVAL:
        return "the module is not for this kernel; the kernel's log says more";
    default:
        return "the kernel's log says more";
    }
}

Error not_loaded(const std::string& name, int error)
{
    return Error::from_errno(error, base::format("load kernel module {}", name),
                             error == EPERM ? Errc::permission : Errc::no_device)
        .with_object(name)
        .with_hint(hint_for(error));
}

/// Loads modules for one call of modprobe. An install command gets loaders of its own: libkmod
/// notes in a context which modules of a call are required.
class Loader {
public:
    Loader(const Library& library, const ModulePlaces& places, unsigned level)
        : library_(library), places_(places), level_(level)
    {
        std::vector<const char*> configuration;
        for (const std::string& directory : places.configuration)
            configuration.push_back(directory.c_str());
        configuration.push_back(nullptr);
        context_ = library_.create(places.modules.empty() ? nullptr : places.modules.c_str(),
                                   places.configuration.empty() ? nullptr : configuration.data());
        if (context_ != nullptr)
            library_.set_log(context_, say_nothing, nullptr);
    }
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;
    ~Loader()
    {
        if (context_ != nullptr)
            (void)library_.unref(context_);
    }

    Result<void> load(const ModprobeCall& call)
    {
        if (context_ == nullptr)
            return Error::from_errno(errno, "read the configuration of kernel modules",
                                     Errc::no_device);
        kmod_list* found = nullptr;
        const int looked_up = library_.look_up(context_, call.module.c_str(), &found);
        if (looked_up < 0 || found == nullptr)
            return not_found(call.module);
        auto done = insert_all(found, call);
        (void)library_.unref_list(found);
        return done;
    }

private:
    Result<void> insert_all(kmod_list* found, const ModprobeCall& call)
    {
        for (kmod_list* at = found; at != nullptr; at = library_.next(found, at)) {
            kmod_module* const module = library_.module_of(at);
            unsigned flags = KMOD_PROBE_APPLY_BLACKLIST_ALIAS_ONLY;
            if (call.ignores_command)
                flags |= KMOD_PROBE_IGNORE_COMMAND;
            const int error =
                library_.insert(module, flags, call.options.c_str(), run_install, this, nullptr);
            (void)library_.unref_module(module);
            if (failure_)
                return *std::move(failure_);
            if (error > 0)
                return Error(Errc::no_device, base::format("load kernel module {}: the "
                                                           "configuration of modprobe forbids it "
                                                           "(blacklist)",
                                                           call.module))
                    .with_object(call.module);
            if (error == -ENOENT)
                return not_found(call.module);
            if (error < 0)
                return not_loaded(call.module, -error);
        }
        return {};
    }

    /// In place of a shell. Called by libkmod, through which no exception may pass.
    static int run_install(kmod_module* /*module*/, const char* command, void* loader) noexcept
    try {
        auto& self = *static_cast<Loader*>(loader);
        auto done = self.follow(command);
        if (done)
            return 0;
        self.failure_ = std::move(done).error();
        return -ECANCELED;
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }

    Result<void> follow(const std::string& command)
    {
        const auto calls = parse_install_command(command);
        if (!calls || level_ >= most_levels)
            return Error(Errc::permission,
                         base::format("load kernel modules: an install command in modprobe.d does "
                                      "more than to call modprobe: {}",
                                      command))
                .with_hint("no process is started for that; load the modules with modprobe");
        for (const ModprobeCall& call : *calls)
            GPUCTR_CHECK(Loader(library_, places_, level_ + 1).load(call));
        return {};
    }

    const Library& library_;
    const ModulePlaces& places_;
    unsigned level_;
    kmod_ctx* context_ = nullptr;
    std::optional<Error> failure_; ///< Of an install command.
};

} // namespace

Result<void> load_modules(const std::vector<std::string>& names, const ModulePlaces& places)
{
    GPUCTR_TRY(const Library library, Library::open());
    for (const std::string& name : names)
        GPUCTR_CHECK(Loader(library, places, 0).load({name, "", false}));
    return {};
}

} // namespace gpucontainer::loading
