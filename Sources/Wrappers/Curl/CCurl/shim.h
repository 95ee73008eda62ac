#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

// Its checks are macros around the functions below.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Variadic functions are not imported into Swift, so each type of argument has a function here.

/// Prepares the library; called once, before any other function.
static inline CURLcode ccurl_start(void)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT);
}

static inline CURLMcode ccurl_multi_set(CURLM *multi, CURLMoption option, long value)
{
    return curl_multi_setopt(multi, option, value);
}

static inline CURLcode ccurl_set_number(CURL *easy, CURLoption option, long value)
{
    return curl_easy_setopt(easy, option, value);
}

/// The library copies the text; NULL takes a default back.
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value)
{
    return curl_easy_setopt(easy, option, value);
}

/// The library copies the bytes.
static inline CURLcode ccurl_set_body(CURL *easy, const void *bytes, curl_off_t count)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, count);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes);
}

/// The caller owns the list, and frees it after the handle.
static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *headers)
{
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

/// The caller owns the buffer of CURL_ERROR_SIZE bytes, and frees it after the handle.
static inline CURLcode ccurl_set_error_buffer(CURL *easy, char *buffer)
{
    return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}

/// Both get `context`, which the caller keeps until the handle is gone.
static inline CURLcode ccurl_set_receivers(
    CURL *easy,
    curl_write_callback on_header,
    curl_write_callback on_body,
    void *context)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

static inline long ccurl_response_code(CURL *easy)
{
    long code = 0;
    return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code) == CURLE_OK ? code : 0;
}

#endif
