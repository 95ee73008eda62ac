// ES256 of OpenSSL for DirectWorker.java.
#include <jni.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

// Each thread keeps the key that it used last: parsing one costs as much as a verification.
static _Thread_local unsigned char last_encoding[256];
static _Thread_local jsize last_length;
static _Thread_local EVP_PKEY *last_key;

static EVP_PKEY *key_of(JNIEnv *env, jbyteArray encoding) {
    unsigned char bytes[sizeof last_encoding];
    jsize length = (*env)->GetArrayLength(env, encoding);
    if (length > (jsize)sizeof bytes) return NULL;
    (*env)->GetByteArrayRegion(env, encoding, 0, length, (jbyte *)bytes);
    if (last_key && length == last_length && !memcmp(bytes, last_encoding, length)) return last_key;
    EVP_PKEY_free(last_key);
    const unsigned char *start = bytes;
    last_key = d2i_PUBKEY(NULL, &start, length);
    last_length = length;
    memcpy(last_encoding, bytes, length);
    return last_key;
}

// DER of r‖s; 0 if it is none.
static int der_of(const unsigned char *raw, unsigned char **der) {
    ECDSA_SIG *signature = ECDSA_SIG_new();
    ECDSA_SIG_set0(signature, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL));
    int length = i2d_ECDSA_SIG(signature, der);
    ECDSA_SIG_free(signature);
    return length;
}

JNIEXPORT jboolean JNICALL Java_DirectWorker_verify(
    JNIEnv *env, jclass class, jbyteArray encoding, jbyteArray message, jint length,
    jbyteArray signature
) {
    unsigned char raw[64], *der = NULL;
    EVP_PKEY *key = key_of(env, encoding);
    if (!key || (*env)->GetArrayLength(env, signature) != sizeof raw) return JNI_FALSE;
    (*env)->GetByteArrayRegion(env, signature, 0, sizeof raw, (jbyte *)raw);
    int der_length = der_of(raw, &der);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    void *bytes = (*env)->GetPrimitiveArrayCritical(env, message, NULL);
    int is_good = bytes && der_length > 0
        && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestVerify(context, der, der_length, bytes, length) == 1;
    if (bytes) (*env)->ReleasePrimitiveArrayCritical(env, message, bytes, JNI_ABORT);
    EVP_MD_CTX_free(context);
    OPENSSL_free(der);
    return is_good ? JNI_TRUE : JNI_FALSE;
}
