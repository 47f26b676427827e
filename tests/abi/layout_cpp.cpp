/// The same layout as a C++ compiler sees it.
#include "layout.c"
