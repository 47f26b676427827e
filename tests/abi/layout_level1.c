/* The same layout as a plugin has it that is compiled for level 1: nothing of a later level shows.
 */
#undef TITAN_API_VERSION
#define TITAN_API_VERSION 1
#include "layout.c"

/* Fails to compile where a later level declares this name at level 1. */
typedef int titan_prediction;
