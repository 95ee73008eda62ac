import Platform

/// The folder of the migrations: `schemas/postgres` of the package or of an installation.
///
/// The migrations are read at run time instead of being compiled in, so that the only copy is the
/// one that people read.
package struct MigrationFolder: Sendable {
    package let path: String

    package init(path: String) { self.path = path }

    /// Finds the folder.
    ///
    /// If `SCHEMAS_DIR` is set, it is the path of `schemas`, and no other path is searched.
    /// Otherwise the search covers the executable's folder and every folder above it (a clone has
    /// `.build` and `schemas` side by side), then `share/entitlement-pipeline` in the same folders
    /// (for an installation's `bin`).
    ///
    /// - Throws: an error that lists the searched paths.
    package static func find(
        environment: [String: String] = ProcessEnvironment.variables, executable: String = runningExecutable
    ) throws(MigrationError) -> MigrationFolder {
        if let schemas = environment["SCHEMAS_DIR"], !schemas.isEmpty {
            guard FileSystem.isFolder(schemas + "/postgres") else {
                throw MigrationError(
                    .folderNotFound, "SCHEMAS_DIR is \(schemas), but there is no folder `postgres` in it")
            }
            return MigrationFolder(path: schemas + "/postgres")
        }
        for folder in foldersAbove(executable) {
            for place in ["schemas", "share/entitlement-pipeline/schemas"] {
                let path = "\(folder)/\(place)/postgres"
                if FileSystem.isFolder(path) { return MigrationFolder(path: path) }
            }
        }
        throw MigrationError(
            .folderNotFound,
            "no folder schemas/postgres beside \(executable) or above it;"
                + " set SCHEMAS_DIR to the folder `schemas` of the package")
    }

    /// The executable of this process, with symbolic links resolved.
    package static var runningExecutable: String { ProcessEnvironment.executable ?? CommandLine.arguments.first ?? "" }

    package func migrations() throws(MigrationError) -> [Migration] {
        guard let names = FileSystem.names(in: path) else {
            throw MigrationError(.folderNotFound, "the folder \(path) cannot be read")
        }
        var migrations: [Migration] = []
        // The folder also contains README.md.
        for name in names.sorted() where !name.hasPrefix(".") && !name.hasSuffix(".md") {
            migrations.append(try migration(fileName: name))
        }
        for (index, migration) in migrations.enumerated() where migration.version != index + 1 {
            throw MigrationError(
                .versionMissing, "\(path): \(migration.name) has number \(migration.version), expected \(index + 1)")
        }
        return migrations
    }

    private func migration(fileName: String) throws(MigrationError) -> Migration {
        guard let (version, name) = Migration.parse(fileName: fileName) else {
            throw MigrationError(.fileMisnamed, "\(path)/\(fileName) is no migration; expected NNNN_name.sql")
        }
        let file = InputFile(path: "\(path)/\(fileName)")
        guard let bytes = try? file?.readWhole(atMost: Self.scriptBytesMax),
            let script = String(validating: bytes, as: UTF8.self)
        else { throw MigrationError(.fileUnreadable, "\(path)/\(fileName) cannot be read") }
        return Migration(version: version, name: name, script: script)
    }

    /// Maximum bytes of a script, so that a wrong file does not fill the memory.
    private static let scriptBytesMax = 16 << 20

    private static func foldersAbove(_ file: String) -> [String] {
        var folders: [String] = []
        var path = file[...]
        while let end = path.lastIndex(of: "/"), end > path.startIndex {
            path = path[..<end]
            folders.append(String(path))
        }
        return folders
    }
}
