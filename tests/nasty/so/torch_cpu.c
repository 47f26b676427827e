/* Has the name of a library of LibTorch and nothing else of it. */
int library_answer(void);
int library_answer(void) { return 42; }
