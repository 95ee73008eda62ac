/// A numbered SQL script, such as `0001_facts.sql`.
package struct Migration: Hashable, Sendable {
    /// The script's number, from 1 without gaps.
    package let version: Int
    package let name: String
    package let script: String

    /// Parses a file's name.
    ///
    /// - Returns: `nil` unless the file name is four digits, an underscore, a name and `.sql`.
    static func parse(fileName: String) -> (version: Int, name: String)? {
        guard fileName.hasSuffix(".sql"), !fileName.hasPrefix(".") else { return nil }
        let stem = fileName.dropLast(4)
        let digits = stem.prefix { $0.isASCII && $0.isNumber }
        let name = stem.dropFirst(digits.count)
        guard digits.count == 4, let version = Int(digits), name.count > 1, name.first == "_" else { return nil }
        return (version, String(name.dropFirst()))
    }
}
