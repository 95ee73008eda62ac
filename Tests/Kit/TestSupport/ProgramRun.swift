package import Foundation

/// A program that has run to its end, and what it printed.
package struct ProgramRun: Sendable {
    package let status: Int32
    package let output: Data

    package var isSuccess: Bool { status == 0 }
    package var text: String { String(decoding: output, as: UTF8.self) }

    /// Runs a program, and blocks until it has ended.
    ///
    /// - Parameters:
    ///   - environment: this process' own if nil.
    ///   - takesErrors: whether the output includes the errors; if not, this process prints them.
    package init(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, in folder: URL? = nil,
        input: Data = Data(), takesErrors: Bool = true
    ) throws {
        // A file, since a program that prints before it has read all would fill both pipes.
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try input.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.environment = environment
        process.currentDirectoryURL = folder
        process.standardInput = try FileHandle(forReadingFrom: file)
        let printed = Pipe()
        process.standardOutput = printed
        if takesErrors { process.standardError = printed }
        try process.run()
        output = try printed.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        status = process.terminationStatus
    }
}
