#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

#include <microhttpd.h>

// Variadic functions are not imported into Swift, so each use of one has a function of its own here.

/// Starts a daemon with one polling thread of its own.
///
/// With `may_suspend` its connections may be suspended; all have to be resumed before it is stopped.
/// With `certificates` and their `key`, both PEM and read before this returns, it speaks TLS only.
/// The library owns `listen_socket` from here on, also when this fails and returns NULL; the caller
/// owns the daemon and ends it with MHD_stop_daemon, which returns when no callback runs any more.
static inline struct MHD_Daemon *cmicrohttpd_start(
    int listen_socket,
    unsigned int connections_max,
    size_t connection_bytes_max,
    unsigned int idle_seconds_max,
    int may_suspend,
    const char *certificates,
    const char *key,
    MHD_AccessHandlerCallback on_request,
    MHD_RequestCompletedCallback on_completed,
    MHD_NotifyConnectionCallback on_connection,
    void *context)
{
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *) certificates},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *) key},
        {MHD_OPTION_END, 0, NULL}};
    unsigned int flags = MHD_USE_AUTO_INTERNAL_THREAD;
    if (may_suspend)
        flags |= MHD_ALLOW_SUSPEND_RESUME;
    if (certificates != NULL)
        flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, context,
        MHD_OPTION_ARRAY, certificates == NULL ? tls + 2 : tls,
        MHD_OPTION_LISTEN_SOCKET, listen_socket,
        MHD_OPTION_CONNECTION_LIMIT, connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_bytes_max,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds_max,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t) 1 << 20,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, context,
        MHD_OPTION_END);
}

/// The descriptor of a connection's socket, -1 without one; the library keeps it.
static inline int cmicrohttpd_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

#endif
