import Foundation
import Simulation
import Synchronization

/// Listens on 127.0.0.1 and answers each connection in one scripted way, or not at all.
package final class ScriptedServer: Sendable {
    package enum Script: Sendable {
        /// Takes the connection and says nothing.
        case silence
        /// Sends these bytes and ends the connection.
        case bytes([UInt8])
        /// Sends the first part at once, then byte by byte for as long as the client reads.
        case drip([UInt8], every: Duration)
    }

    private let listener: LoopbackSocket
    private let script: Script
    private let accepted = Atomic(0)
    private let open = Mutex<[Int32]>([])
    private let heads = Mutex<[String]>([])

    package init(_ script: Script) throws {
        // A client that has gone away is an error of the write alone.
        signal(SIGPIPE, SIG_IGN)
        self.script = script
        listener = try LoopbackSocket(isListening: true)
        Thread.detachNewThread { [self] in serve() }
    }

    deinit { listener.close() }

    package var port: UInt16 { listener.port }

    /// Number of accepted connections.
    package var connections: Int { accepted.load(ordering: .acquiring) }

    /// The requests that have been answered, up to the end of each head.
    package var requests: [String] { heads.withLock { $0 } }

    package func stop() {
        listener.shutDown()
        open.withLock { for connection in $0 { shutdown(connection, Int32(SHUT_RDWR)) } }
    }

    private func serve() {
        while true {
            let connection = accept(listener.descriptor, nil, nil)
            guard connection >= 0 else { return }
            accepted.add(1, ordering: .acquiringAndReleasing)
            open.withLock { $0.append(connection) }
            Thread.detachNewThread { [self] in answer(connection) }
        }
    }

    private func answer(_ connection: Int32) {
        defer {
            open.withLock { $0.removeAll { $0 == connection } }
            close(connection)
        }
        switch script {
        case .silence:
            var byte: UInt8 = 0
            while recv(connection, &byte, 1, 0) > 0 {}
        case .bytes(let bytes):
            readRequest(connection)
            _ = write(connection, bytes, bytes.count)
        case .drip(let bytes, let interval):
            readRequest(connection)
            guard write(connection, bytes, bytes.count) == bytes.count else { return }
            var byte = UInt8(ascii: "a")
            while write(connection, &byte, 1) == 1 { usleep(useconds_t(interval / .microseconds(1))) }
        }
    }

    /// Reads to the end of the head, and the rest of so short a request with it.
    private func readRequest(_ connection: Int32) {
        var seen: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let end = Array("\r\n\r\n".utf8)
        while !seen.contains(end) {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            seen += buffer[..<count]
        }
        heads.withLock { $0.append(String(decoding: seen, as: UTF8.self)) }
    }
}
