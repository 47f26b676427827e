/* Compiled without -fPIC: the address of a variable stands in the code, which the loader would have
 * to make writable. */
#include "defect.c"

TITAN_EXPORT const void *address_in_code(void);
extern int somewhere_else;
int somewhere_else = 1;
const void *address_in_code(void) { return &somewhere_else; }
