import Glibc

/// The variables, arguments and machine of this process.
package enum ProcessEnvironment {
    /// The current environment variables (environ(7)).
    ///
    /// The first of two entries with one name counts, as in getenv(3); invalid UTF-8 is repaired.
    package static var variables: [String: String] {
        var pairs: [String] = []
        var entry = environ
        while let text = entry.pointee {
            pairs.append(String(cString: text))
            entry += 1
        }
        return variables(pairs)
    }

    /// The variables in entries of the form `name=value`; other entries are skipped.
    package static func variables(_ entries: [String]) -> [String: String] {
        var variables: [String: String] = [:]
        for entry in entries {
            // Compares code points, because an accent may follow the equals sign.
            let scalars = entry.unicodeScalars
            guard let sign = scalars.firstIndex(of: "="), sign > scalars.startIndex else { continue }
            let name = String(scalars[..<sign])
            let value = String(scalars[scalars.index(after: sign)...])
            variables[name] = variables[name] ?? value
        }
        return variables
    }

    /// The file that this process runs, with symbolic links resolved.
    ///
    /// `nil` if the kernel does not name the file (proc(5)).
    package static var executable: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// The name of this machine or container (gethostname(2)), `localhost` if it has no name.
    package static var hostName: String {
        // Linux's longest name, and one byte that stays zero.
        var name = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
        guard gethostname(&name, Int(HOST_NAME_MAX)) == 0, name[0] != 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    package static var processID: Int32 { getpid() }
}
