import Glibc

/// A system thread, for work that blocks.
@safe package enum OwnThread {
    /// Starts a thread, which ends when `body` returns; nobody waits for the end.
    ///
    /// - Parameters:
    ///   - name: the name in debuggers and `ps -L`; the kernel keeps its first 15 bytes.
    ///   - stackBytes: the size of the stack, a multiple of the page size.
    /// - Returns: false if the system cannot start another thread.
    package static func start(name: String, stackBytes: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setstacksize(&attributes, stackBytes)
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, &attributes, run, start.toOpaque())
        if status != 0 { unsafe start.release() }
        return status == 0
    }

    /// The calling thread's identity, which no other running thread has.
    package static var current: UInt { UInt(pthread_self()) }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private typealias Main = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?

    private static let run: Main = {
        guard let argument = unsafe $0 else { return nil }
        let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        rename(start.name)
        start.body()
        return nil
    }

    /// Names the calling thread (proc(5)); without /proc the thread keeps the program's name.
    private static func rename(_ name: String) {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        let bytes = Array(name.utf8.prefix(15))
        _ = unsafe write(file, bytes, bytes.count)
        close(file)
    }
}
