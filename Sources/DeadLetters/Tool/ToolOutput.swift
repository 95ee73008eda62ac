import Foundation

/// Where the tool writes: results to standard output, everything else to standard error.
package struct ToolOutput: Sendable {
    private let bytes: @Sendable ([UInt8]) -> Void
    package let note: @Sendable (String) -> Void

    /// - Parameter result: takes what is written, byte for byte.
    package init(
        result: @escaping @Sendable ([UInt8]) -> Void,
        note: @escaping @Sendable (String) -> Void
    ) {
        bytes = result
        self.note = note
    }

    package static let standard = ToolOutput(
        result: { write($0, to: STDOUT_FILENO) },
        note: { write(Array($0.utf8), to: STDERR_FILENO) }
    )

    package func result(_ text: String) {
        bytes(Array(text.utf8))
    }

    /// For what may be no text.
    package func result(bytes original: [UInt8]) {
        bytes(original)
    }

    /// Writes all of it; a reader that is gone is nobody's fault.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
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
