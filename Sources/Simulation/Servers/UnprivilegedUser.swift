import Foundation

/// The user that PostgreSQL runs as where we are root, which it refuses to run as.
struct UnprivilegedUser {
    let name: String
    private let userID: uid_t
    private let groupID: gid_t

    /// Nil where this process is not root and needs no other user.
    static func needed() throws -> UnprivilegedUser? {
        if geteuid() != 0 {
            return nil
        }
        for name in ["postgres", "nobody"] {
            if let entry = getpwnam(name) {
                return UnprivilegedUser(
                    name: name,
                    userID: entry.pointee.pw_uid,
                    groupID: entry.pointee.pw_gid
                )
            }
        }
        throw LocalServerError("as root, PostgreSQL needs a user `postgres` or `nobody` to run as")
    }

    func takeOwnership(ofPath path: String) throws {
        guard chown(path, userID, groupID) == 0 else {
            throw LocalServerError("cannot hand \(path) to user \(name)", errno: errno)
        }
    }

    /// What has to stand before a command so that it runs as this user, in a folder that it may
    /// read; both programs replace themselves, so the process identifier is the command's own.
    var commandPrefix: [String] {
        [
            "/usr/bin/env", "--chdir=/", "/usr/bin/setpriv", "--reuid=\(userID)",
            "--regid=\(groupID)", "--clear-groups", "--",
        ]
    }
}
