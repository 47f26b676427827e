/// Checks what a plugin declares about its converters before the config relies on it.
#pragma once

#include "config/option_schema.h"

namespace titan::config {

/// Throws a usage error that names the schema's origin: malformed or reserved names, names given
/// twice, limits that exclude everything, or a default its own option would refuse.
void validate_schema(const ConverterSchema& schema);

}  // namespace titan::config
