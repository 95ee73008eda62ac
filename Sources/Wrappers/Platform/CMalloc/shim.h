#ifndef CMALLOC_SHIM_H
#define CMALLOC_SHIM_H

#include <stdlib.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

/// Sets glibc's allocator as mallopt(3) describes; does nothing with another C library. Here because
/// the toolchain's Glibc module leaves malloc.h out.
static inline void malloc_set_policy(int arenas_max, int mapped_bytes_min, int trim_bytes) {
#if defined(__GLIBC__)
    mallopt(M_ARENA_MAX, arenas_max);
    mallopt(M_MMAP_THRESHOLD, mapped_bytes_min);
    mallopt(M_TRIM_THRESHOLD, trim_bytes);
#endif
}

#endif
