/// The second translation unit.
#include "linked_twice.h"

const void* address_of_host_pointer_here() { return &titan::sdk::host_pointer(); }
