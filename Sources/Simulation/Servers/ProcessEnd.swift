import Foundation

/// How a process ended.
package enum ProcessEnd: Hashable, Sendable {
    case exited(code: Int32)
    case signalled(Int32)

    /// Takes apart what `waitpid` reports (`sys/wait.h`; its macros do not import).
    init(waitStatus: Int32) {
        let signal = waitStatus & 0x7f
        self = signal == 0 ? .exited(code: (waitStatus >> 8) & 0xff) : .signalled(signal)
    }
}
