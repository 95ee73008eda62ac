#ifndef CGMP_SHIM_H
#define CGMP_SHIM_H

#include <gmp.h>

// GMP's functions are macros for others, so each use of one has a function of its own here.

static inline void cgmp_init(mpz_ptr number) { mpz_init(number); }

static inline void cgmp_clear(mpz_ptr number) { mpz_clear(number); }

/// Reads `count` bytes, the most significant one first.
static inline void cgmp_read(mpz_ptr number, const void *bytes, size_t count)
{
    mpz_import(number, count, 1, 1, 1, 0, bytes);
}

/// Writes a number of at most `count` bytes, the most significant one first, with leading zeros;
/// 0 where it needs more.
static inline int cgmp_write(mpz_srcptr number, unsigned char *bytes, size_t count)
{
    size_t used = (mpz_sizeinbase(number, 2) + 7) / 8;
    if (used > count) return 0;
    for (size_t index = 0; index < count; index++) bytes[index] = 0;
    mpz_export(bytes + count - used, NULL, 1, 1, 1, 0, number);
    return 1;
}

/// 0 where there is no inverse.
static inline int cgmp_invert(mpz_ptr inverse, mpz_srcptr number, mpz_srcptr modulus)
{
    return mpz_invert(inverse, number, modulus);
}

#endif
