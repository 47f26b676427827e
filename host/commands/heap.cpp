/// How the program's malloc, jemalloc, keeps memory. Training takes and gives back the same large
/// blocks in every step: given back to the system, each would be mapped and zeroed again, which
/// costs a sixth of a step of the debug model.
///
/// So nothing is returned while the program runs (dirty and muzzy pages never decay), and large
/// blocks lie in huge pages. A few arenas are enough: torch's threads allocate little. MALLOC_CONF
/// in the environment goes before.
extern "C" __attribute__((visibility("default"))) const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always,narenas:2";
