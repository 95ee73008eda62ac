import Foundation

/// A TCP client that sends any bytes, right or wrong, and reads until the other end closes.
package struct RawClient: ~Copyable {
    private let descriptor: Int32

    package enum Failure: Error { case notConnected(Int32) }

    /// - Parameters:
    ///   - source: the last byte of the loopback address to come from: 127.0.0.x.
    ///   - silenceMax: seconds after which reading ends.
    package init(port: UInt16, from source: UInt8 = 1, silenceMax: Int = 20) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: silenceMax, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in.loopback(port: port)
        if source != 1 {
            address.sin_port = 0
            address.sin_addr.s_addr = (UInt32(0x7F00_0000) + UInt32(source)).bigEndian
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
            }
            address = .loopback(port: port)
        }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let failure = errno
            close(descriptor)
            throw Failure.notConnected(failure)
        }
    }

    deinit { close(descriptor) }

    /// Sends all of the text; false when the other end has closed.
    @discardableResult package func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Reads to the end of the connection.
    package func readAll() -> String { read { _ in false } }

    /// Reads an HTTP message by its length, from an end that keeps the connection open.
    package func readMessage() -> String { read(until: Self.isWhole) }

    private func read(until isWhole: ([UInt8]) -> Bool) -> String {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !isWhole(received) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            received.append(contentsOf: buffer[..<count])
        }
        return String(decoding: received, as: UTF8.self)
    }

    static func isWhole(_ message: [UInt8]) -> Bool {
        guard let end = message.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
        let head = String(decoding: message[..<end.lowerBound], as: UTF8.self).lowercased()
        let length = head.components(separatedBy: "\r\ncontent-length:").dropFirst().first
        let digits = length?.drop { $0 == " " }.prefix { $0.isNumber } ?? ""
        return message.count - end.upperBound >= Int(digits) ?? 0
    }

    /// Whether the other end has closed, found without waiting for it.
    package var isClosed: Bool {
        var byte: UInt8 = 0
        let flags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
        let count = recv(descriptor, &byte, 1, flags)
        return count == 0 || (count < 0 && errno != EAGAIN)
    }

    /// Sends one request on a connection of its own and returns the whole answer.
    package static func exchange(_ request: String, port: UInt16, from source: UInt8 = 1) throws -> String {
        let client = try RawClient(port: port, from: source)
        client.send(request)
        return client.readAll()
    }
}
