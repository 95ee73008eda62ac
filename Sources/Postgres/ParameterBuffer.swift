import CLibPQ

/// The parameters of one statement side by side in one buffer, as libpq wants to be shown them.
struct ParameterBuffer {
    private var bytes: [UInt8] = []
    private var offsets: [Int] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    /// A buffer that one huge batch has blown up is given back rather than kept for good.
    private static let bytesKeptMax = 4 << 20

    mutating func replace(with parameters: [PostgresValue]) {
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.bytesKeptMax)
        offsets.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        formats = Array(repeating: 1, count: parameters.count)
        for parameter in parameters {
            if case .null = parameter {
                offsets.append(-1)
                lengths.append(0)
                continue
            }
            let start = bytes.count
            parameter.encode(into: &bytes)
            offsets.append(start)
            lengths.append(Int32(truncatingIfNeeded: bytes.count - start))
        }
        // libpq takes a null pointer for NULL, so even an empty value needs an address.
        bytes.append(0)
    }

    /// Calls `body` with libpq's four arguments: count, values, lengths, formats.
    @unsafe
    func withArguments<R>(
        _ body: (
            Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?,
            UnsafePointer<Int32>?
        ) -> R
    ) -> R {
        unsafe bytes.withUnsafeBytes { buffer in
            let values = unsafe offsets.map { offset -> UnsafePointer<CChar>? in
                guard offset >= 0, let base = buffer.baseAddress else { return nil }
                return unsafe (base + offset).assumingMemoryBound(to: CChar.self)
            }
            return unsafe body(Int32(offsets.count), values, lengths, formats)
        }
    }
}
