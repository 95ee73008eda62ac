#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/http.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs7.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* OpenSSL 3 deprecates tables of points with nothing in their place. Where a library keeps none for
   the group, as a later one may, this answers 0. */
static inline int shim_group_precompute(EC_GROUP *group, BN_CTX *context) {
    return EC_GROUP_precompute_mult(group, context) == 1
        && EC_GROUP_have_precompute_mult(group) == 1;
}

#pragma GCC diagnostic pop

/* The flags of the form are macros that do not import. */
static inline int shim_print_name(BIO *output, const X509_NAME *name) {
    return X509_NAME_print_ex(output, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
}

#endif
