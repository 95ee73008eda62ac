import Foundation

/// Why a server or a process on this machine did not start or stop.
package struct LocalServerError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    init(_ message: String, errno code: Int32) {
        self.message = "\(message): \(String(cString: strerror(code)))"
    }

    package var description: String {
        message
    }
}
