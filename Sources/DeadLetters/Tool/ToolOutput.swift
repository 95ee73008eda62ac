import Foundation

/// Where the tool writes: results to standard output, everything else to standard error.
package struct ToolOutput: Sendable {
    package let result: @Sendable (String) -> Void
    package let note: @Sendable (String) -> Void

    package init(
        result: @escaping @Sendable (String) -> Void,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.result = result
        self.note = note
    }

    package static let standard = ToolOutput(
        result: { write($0, to: STDOUT_FILENO) },
        note: { write($0, to: STDERR_FILENO) }
    )

    /// Writes all of it; a reader that is gone is nobody's fault.
    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
