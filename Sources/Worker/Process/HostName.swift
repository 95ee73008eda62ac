import Foundation

/// The name of this machine or container, and of the process on it.
enum HostName {
    static let current: String = {
        let process = ProcessInfo.processInfo
        return "\(process.hostName)/\(process.processIdentifier)"
    }()
}
