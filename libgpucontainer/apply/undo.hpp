// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "journal/store.hpp"

#include <cstdint>

namespace gpucontainer::apply {

/// Undoes what apply() did there. False if there was nothing to undo.
Result<bool> undo(const Target& target);

enum class Undone : std::uint8_t {
    undone,
    forgotten, ///< Its root is gone; the journal was removed.
    left,      ///< In use in another namespace or on another mount, or out of reach.
};

/// Undoes one set-up of any root, at the path in its journal. Uses only the state directory and
/// the findings of `where`.
Result<Undone> undo_set_up(journal::RootName root, const journal::SetUpKey& key,
                           const Target& where);

} // namespace gpucontainer::apply
