import Foundation

/// A tool's completion as bash performs it.
package enum BashCompletion {
    /// The words that complete a typed line.
    ///
    /// - Parameters:
    ///   - script: what the tool prints.
    ///   - line: begins with the tool's name.
    /// - Returns: also what bash knows of the tool after it has read the script.
    package static func words(_ script: String, _ line: String) throws -> (words: [String], loaded: String) {
        let typed = line.split(separator: " ", omittingEmptySubsequences: false)
        let array = typed.map { "'\($0)'" }.joined(separator: " ")
        let function = "_" + typed[0].replacing("-", with: "_")
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = [
            "-c",
            script + "\nCOMP_WORDS=(\(array)); COMP_CWORD=\(typed.count - 1)\n"
                + "\(function); printf '%s\\n' \"${COMPREPLY[@]}\"; complete -p \(typed[0]) >&2",
        ]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let completed = text(output).split(separator: "\n").map(String.init)
        let loaded = text(errors)
        process.waitUntilExit()
        return (completed, loaded)
    }

    private static func text(_ pipe: Pipe) -> String {
        String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
}
