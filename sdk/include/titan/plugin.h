/* The entry of a plugin and the note that describes it without running its code. */
#ifndef TITAN_PLUGIN_H
#define TITAN_PLUGIN_H

#include "host.h"
#include "version.h"

TITAN_BEGIN_C

/* The one exported function. [main-thread], called once per process, before any device is touched.
 * Hands over the note, registers converters, keeps `host` for later, starts nothing.
 * Why extern "C" and a fixed name: dlsym must find it whatever the file is called.
 *
 * Trust: a plugin is native code with all rights of the trainer. The host's checks stop accidents,
 * not attackers. */
TITAN_EXPORT titan_status register_converters(const titan_host *host, titan_registrar *registrar);

TITAN_END_C

/* The note: one ELF note in section .note.titan (name "titan", type 1) whose content is one JSON
 * object, at most 64 KiB:
 *
 *   {"name": "scale", "version": "1.0.0", "license": "MIT", "homepage": "...",
 *    "api_min": 1, "api_built": 1, "tier": "none",              tier: none | stable | exact
 *    "torch_min": "2.10",                                       tier stable: what it targets
 *    "converters": [{"name": "scale", "summary": "one line",
 *       "options": [{"name": "factor", "type": "float", "default": 1.0, "min": 0.0, "max": 8.0,
 *                    "help": "one line"}]}]}
 *
 * Option types: bool, int, float, string, enum (with "values"), path, and list of each
 * ("list[string]"). An option may have "aliases": ["old_name"]. A default of null makes it
 * required. A path reaches the plugin as the user wrote it; relative ones are meant from
 * the trainer's working directory.
 *
 * A converter that has most matrices multiplied in fp8 says so with "matrix_type": "float8", beside
 * "summary": utilisation (mfu) is then measured against the device's fp8 peak.
 *
 * For titan-plugin-validate a converter may say how close it stays to the modules it changes:
 * "numerics": "exact" (the stock function up to rounding, gradients too), {"sqnr_db": 20.0}
 * (outputs and gradients have at least that ratio of signal to noise) or "straight_through" (its
 * gradients are not the derivative of what it computes); absent: it computes another function.
 * Where the defaults cannot run everywhere, "validate_with": {"emulate": true} gives values for its
 * options.
 *
 * TITAN_NOTE puts the object into the file; `TITAN_NOTE_JSON, TITAN_NOTE_SIZE` hand the same bytes
 * to registrar_note. Use it once, in the file that defines register_converters (an archive member
 * that nothing refers to is dropped by the linker, note and all). titan_add_plugin(METADATA
 * plugin.json) generates it from a file; C compilers warn about literals above 4095 bytes. */
#define TITAN_NOTE_TYPE 1u
#define TITAN_NOTE(json)                                                     \
  static const struct {                                                      \
    uint32_t namesz, descsz, type;                                           \
    char name[8];                                                            \
    char desc[(sizeof(json) + 3u) & ~(uint64_t)3u];                          \
  } titan_note __attribute__((section(".note.titan"), aligned(4), used)) = { \
      6u, (uint32_t)(sizeof(json) - 1u), TITAN_NOTE_TYPE, "titan", json}
#define TITAN_NOTE_JSON ((const void *)titan_note.desc)
#define TITAN_NOTE_SIZE ((uint64_t)titan_note.descsz)

#endif /* TITAN_PLUGIN_H */
