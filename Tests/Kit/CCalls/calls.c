#define _GNU_SOURCE
#include "calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* These stand before the libraries' own: the linker takes those of the program first
 * (glibc's manual, "Replacing malloc"). Each counts and calls on. */

static _Atomic int64_t allocations, round_trips;
static _Thread_local int64_t own_bytes, own_signatures;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void add_one(_Atomic int64_t *calls) {
    atomic_fetch_add_explicit(calls, 1, memory_order_relaxed);
}

static void allocate(size_t size) {
    add_one(&allocations);
    own_bytes += (int64_t)size;
}

void *malloc(size_t size) {
    allocate(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    allocate(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    allocate(size);
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    allocate(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *aligned = aligned_alloc(alignment, size);
    if (!aligned) return ENOMEM;
    *block = aligned;
    return 0;
}

int PQpipelineSync(void *connection) {
    add_one(&round_trips);
    int (*next)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "PQpipelineSync");
    return next ? next(connection) : 0;
}

int X509_verify(void *certificate, void *key) {
    own_signatures += 1;
    int (*next)(void *, void *) = (int (*)(void *, void *))dlsym(RTLD_NEXT, "X509_verify");
    return next ? next(certificate, key) : -1;
}

int64_t calls_of_allocators(void) { return atomic_load(&allocations); }

int64_t own_bytes_of_allocators(void) { return own_bytes; }

int64_t own_calls_of_x509_verify(void) { return own_signatures; }

int64_t calls_of_pipeline_sync(void) { return atomic_load(&round_trips); }
