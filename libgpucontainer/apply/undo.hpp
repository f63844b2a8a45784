// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "journal/store.hpp"

#include <cstdint>

namespace gpucontainer::apply {

/// Takes back what apply() did there; false when there was nothing.
Result<bool> undo(const Target& target);

enum class Undone : std::uint8_t {
    undone,
    forgotten, ///< Its root is gone; the journal was removed.
    left,      ///< Lives in another namespace or on another mount, or cannot be reached.
};

/// Takes back one set-up of any root, where its journal says the root is; of `where` only
/// the state directory and who is told count.
Result<Undone> undo_set_up(journal::RootName root, const journal::SetUpKey& key,
                           const Target& where);

} // namespace gpucontainer::apply
