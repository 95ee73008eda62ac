import Foundation

/// The folders of Node's packages: those of NODE_PATH, Debian's, and what `deploy/install.sh` unpacked.
package enum NodePackages {
    private static let folders =
        (ProcessInfo.processInfo.environment["NODE_PATH"]?.split(separator: ":").map(String.init) ?? []) + [
            "/usr/share/nodejs", ReferenceScript.root.appending(path: ".build/node/usr/share/nodejs").path,
        ]

    /// A value for NODE_PATH.
    package static let path = folders.joined(separator: ":")

    package static let hasPG = folders.contains { FileManager.default.fileExists(atPath: "\($0)/pg") }
}
