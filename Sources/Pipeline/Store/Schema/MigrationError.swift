package struct MigrationError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable {
        case folderNotFound
        case fileUnreadable
        case fileMisnamed
        case versionMissing
        case changedAfterApplied
        case databaseNewer
        case databaseOlder
        case serverTooOld
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
