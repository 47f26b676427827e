/* The API level of these headers and the level a plugin is built for. */
#ifndef TITAN_VERSION_H
#define TITAN_VERSION_H

/* The newest level these headers describe, and the oldest one they can still target. */
#define TITAN_API_LEVEL 2
#define TITAN_API_FLOOR 1

/* The level a plugin targets: fields and functions of later levels are not declared.
 * Why the default is the floor: a plugin that is merely recompiled keeps loading into old hosts. */
#ifndef TITAN_API_VERSION
#define TITAN_API_VERSION TITAN_API_FLOOR
#endif

#if TITAN_API_VERSION > TITAN_API_LEVEL
#error "TITAN_API_VERSION is newer than these headers: install a newer titan SDK or lower it"
#endif
#if TITAN_API_VERSION < TITAN_API_FLOOR
#error "TITAN_API_VERSION is older than these headers support: use an older titan SDK or raise it"
#endif

/* Version of the SDK package itself (semantic versioning). */
#define TITAN_SDK_VERSION "0.1.0"

#endif /* TITAN_VERSION_H */
