import Foundation

/// A `posix_spawn` of a program in a process group of its own.
///
/// The child has only the descriptors that it is given: a listening socket that it inherits would
/// stay open after this process.
struct SpawnRequest {
    let executable: String
    let arguments: [String]
    let environment: [String: String]

    /// Our descriptors.
    ///
    /// `nil` means `/dev/null`.
    let standardInput: Int32?
    let standardOutput: Int32?
    let standardError: Int32?

    /// - Returns: the process identifier of the child, which the caller has to reap.
    func start() throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in [standardInput, standardOutput, standardError].enumerated() {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            }
        }
        for descriptor in 3...(3 + Self.descriptorMax()) { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        try configure(&attributes)
        return try spawn(&actions, &attributes)
    }

    /// The child starts with default signals, even if this process ignores SIGPIPE or SIGTERM.
    private func configure(_ attributes: inout posix_spawnattr_t) throws {
        var allSignals = sigset_t()
        sigfillset(&allSignals)
        posix_spawnattr_setsigdefault(&attributes, &allSignals)
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        posix_spawnattr_setflags(&attributes, Int16(flags))
    }

    /// A bound above the greatest open descriptor, with room for those that other threads are about
    /// to open.
    ///
    /// Closing one that is not open is harmless.
    private static func descriptorMax() -> Int32 {
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")
        return (open ?? []).compactMap(Int32.init).reduce(64, max) + 64
    }

    private func spawn(_ actions: inout posix_spawn_file_actions_t, _ attributes: inout posix_spawnattr_t) throws
        -> Int32
    {
        var processID: pid_t = 0
        let variables = environment.map { "\($0.key)=\($0.value)" }
        let code = withCStrings([executable] + arguments) { argumentPointers in
            withCStrings(variables) { variablePointers in
                posix_spawn(&processID, executable, &actions, &attributes, argumentPointers, variablePointers)
            }
        }
        guard code == 0 else { throw LocalServerError("cannot start \(executable)", errno: code) }
        return processID
    }
}

/// Calls `body` with a null-terminated array of C strings, valid for the call.
private func withCStrings<R>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
    let copies = strings.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return body(copies + [nil])
}
