/// The host's extension titan.torch_tensor/1, for the tiers that see tensors as torch's.
#pragma once

#include "../ext/torch_tensor.h"
#include "error.hpp"

namespace titan::sdk {

/// The extension's table; throws TITAN_UNSUPPORTED on a host without it.
inline const titan_torch_tensor& torch_extension() {
  static const auto* table = static_cast<const titan_torch_tensor*>(
      host().get_extension(TITAN_STR(TITAN_EXT_TORCH_TENSOR)));
  if (!table)
    throw Error(TITAN_UNSUPPORTED, "this host has no extension " TITAN_EXT_TORCH_TENSOR,
                "use a newer titan");
  return *table;
}

}  // namespace titan::sdk
