/* A library that a plugin may bring along; not a plugin. */
int helper_answer(void);
int helper_answer(void) { return 42; }
