#ifndef C_CALLS_H
#define C_CALLS_H

#include <stdint.h>

/* Calls that any thread of this program has made: of malloc(3), calloc(3), realloc(3) and their
 * aligned kin, and of libpq's PQpipelineSync(), which is one round trip to PostgreSQL. */
int64_t calls_of_allocators(void);
int64_t calls_of_pipeline_sync(void);

/* Of the calling thread alone: the bytes that it has asked allocators for, and its calls of
 * libcrypto's X509_verify(), which computes the signature of a certificate. */
int64_t own_bytes_of_allocators(void);
int64_t own_calls_of_x509_verify(void);

#endif
