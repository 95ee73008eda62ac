import Glibc

/// Questions about the file or folder at a path.
package enum FileSystem {
    /// Whether a folder exists at the path; symbolic links are followed.
    package static func isFolder(_ path: String) -> Bool { kind(path) == S_IFDIR }

    /// Whether the path names something other than a folder that this process may read.
    package static func isReadableFile(_ path: String) -> Bool {
        guard let kind = kind(path), kind != S_IFDIR else { return false }
        return access(path, R_OK) == 0
    }

    /// Whether every user of this machine may read the file or folder.
    package static func isReadableByAll(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    /// Whether the path names a regular file, which can be read twice: no folder, pipe or device.
    package static func isRegularFile(_ path: String) -> Bool { kind(path) == S_IFREG }

    /// The names in a folder, in no order, without `.` and `..`.
    ///
    /// `nil` if the folder cannot be read.
    package static func names(in folder: String) -> [String]? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
            errno = 0
        }
        return errno == 0 ? names : nil
    }

    /// The type bits of `st_mode` (inode(7)).
    ///
    /// `nil` if nothing exists at the path.
    private static func kind(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}

extension FileSystem {
    /// Replaces the file at a path atomically; every user may read the new file.
    ///
    /// Returns false if the file cannot be written; a former file then stays unchanged.
    package static func replace(_ path: String, with bytes: [UInt8]) -> Bool {
        let partial = "\(path).\(getpid())"
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return false }
        // Sets the mode whatever the umask is: the reader may be another user.
        let isWritten = write(bytes, to: descriptor) && fchmod(descriptor, 0o644) == 0
        guard close(descriptor) == 0, isWritten, rename(partial, path) == 0 else {
            unlink(partial)
            return false
        }
        return true
    }

    /// Writes all bytes to an open descriptor, and waits for a slow reader.
    ///
    /// Returns false if the reader has closed its end, or no space is left.
    @discardableResult package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, 1000)
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }
}
