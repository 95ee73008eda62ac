import Foundation

/// Where PostgreSQL's server programs are installed on this machine.
package struct PostgresBinaries: Hashable, Sendable {
    package let folder: String

    /// Debian keeps them out of the path, one folder per major version: the newest is taken.
    ///
    /// - Throws: an error that names the package to install.
    package static func find() throws -> PostgresBinaries {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = debianFolders() + path.split(separator: ":").map(String.init)
        let complete = folders.first { folder in
            ["initdb", "postgres"].allSatisfy { name in
                FileManager.default.isExecutableFile(atPath: "\(folder)/\(name)")
            }
        }
        guard let complete else {
            throw LocalServerError(
                "PostgreSQL's server programs (initdb, postgres) are neither under"
                    + " /usr/lib/postgresql nor in the PATH; on Debian: apt-get install postgresql"
            )
        }
        return PostgresBinaries(folder: complete)
    }

    private static func debianFolders() -> [String] {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap(Int.init).sorted(by: >).map { "\(root)/\($0)/bin" }
    }
}
