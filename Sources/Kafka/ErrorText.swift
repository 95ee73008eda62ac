/// The texts that librdkafka writes into a caller's buffer.
enum ErrorText {
    private static let bytesMax = 512

    /// What `body` wrote; empty when it wrote nothing.
    static func written(_ body: (UnsafeMutablePointer<CChar>?, Int) -> Void) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytesMax) { buffer in
            unsafe buffer.initialize(repeating: 0)
            unsafe body(buffer.baseAddress, buffer.count)
            return unsafe String(optionalCString: buffer.baseAddress)
        }
    }
}
