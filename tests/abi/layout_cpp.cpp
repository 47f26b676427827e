/// The same layout as a C++ compiler sees it, in the newest level.
#include "layout.c"
