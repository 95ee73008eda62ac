import Foundation
import Simulation
import Synchronization

/// Forwards connections to a port of 127.0.0.1, until it stops to without closing any: to both ends
/// the other one is a process that stands still.
package final class StallingProxy: Sendable {
    private let listener: LoopbackSocket
    private let target: UInt16
    private let isStalled = Atomic(false)
    private let open = Mutex<[Int32]>([])

    package init(to target: UInt16) throws {
        signal(SIGPIPE, SIG_IGN)
        self.target = target
        listener = try LoopbackSocket(isListening: true)
        Thread.detachNewThread { [self] in serve() }
    }

    deinit { listener.close() }

    package var port: UInt16 { listener.port }

    /// Ends all forwarding and leaves the connections open.
    package func stall() { isStalled.store(true, ordering: .releasing) }

    package func stop() {
        listener.shutDown()
        open.withLock { for connection in $0 { shutdown(connection, Int32(SHUT_RDWR)) } }
    }

    private func serve() {
        while true {
            let client = accept(listener.descriptor, nil, nil)
            guard client >= 0 else { return }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in.loopback(port: target)
            let code = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            open.withLock { $0 += [client, server] }
            guard code == 0 else { continue }
            Thread.detachNewThread { [self] in forward(from: client, to: server) }
            Thread.detachNewThread { [self] in forward(from: server, to: client) }
        }
    }

    private func forward(from source: Int32, to sink: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            if isStalled.load(ordering: .acquiring) { return }
            guard count > 0 else {
                shutdown(sink, Int32(SHUT_RDWR))
                return
            }
            var sent = 0
            while sent < count {
                let step = buffer[sent..<count].withUnsafeBytes {
                    Foundation.send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard step > 0 else { return }
                sent += step
            }
        }
    }
}
