import Commands
import Platform
import Settings

/// Reads bodies from files or standard input, one after the other, in bounded memory.
struct BodySource: Sendable {
    /// A body, and its origin.
    struct Body {
        let bytes: [UInt8]
        let origin: BodyOrigin
    }

    enum Division {
        /// Each non-blank line is a body.
        case lines
        /// Each file is one body, including its line breaks.
        case whole
    }

    /// Maximum bytes of a body; more than any topic accepts, so that the broker's refusal is shown.
    private static let bodyBytesMax = 16 * 1_048_576

    private let division: Division
    /// The files that are not open yet, with their indexes among all files.
    private var paths: ArraySlice<String>
    private var reader: (lines: LineReader, name: String)?
    /// A line that was read ahead.
    private var pending: [UInt8]?
    /// Whether the current file has had no body so far.
    private var isBlankSoFar = true

    /// Throws a `CommandError` with the name of a file that cannot be read, before any body is read.
    ///
    /// - Parameter paths: the paths of the files; `-` is standard input.
    init(paths: [String], division: Division) throws(CommandError) {
        for path in paths where path != "-" && !FileSystem.isReadableFile(path) {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        self.paths = paths[...]
        self.division = division
    }

    /// Counts the bodies, starting at a line of the first file.
    ///
    /// `nil` if counting would consume the bodies, as with a pipe.
    func count(from line: Int) -> Int? {
        guard paths.allSatisfy(FileSystem.isRegularFile) else { return nil }
        guard division == .lines else { return paths.count }
        var copy = self
        var count = 0
        do throws(CommandError) {
            try copy.skip(to: line)
            while try copy.next() != nil { count += 1 }
        } catch { return nil }
        return count
    }

    /// Skips the lines of the first file before a line number, counted from 1.
    mutating func skip(to line: Int) throws(CommandError) {
        guard line > 1, let path = paths.first else { return }
        try open(path)
        isBlankSoFar = false
        var count = 0
        while count < line {
            pending = try nextLine()
            guard pending != nil else {
                throw CommandError(
                    ExitCode.data,
                    "--from \(line): \(Self.name(of: path)) has "
                        + "\(Quantity.counted(count, "line")); nothing is published")
            }
            count += 1
        }
    }

    /// The origin of the next body.
    ///
    /// `nil` at the end.
    var position: BodyOrigin? {
        guard let reader else { return paths.first.map { BodyOrigin(Self.name(of: $0), input: paths.startIndex) } }
        let line = reader.lines.lineNumber + (pending == nil ? 1 : 0)
        return BodyOrigin(reader.name, input: paths.startIndex - 1, line: line)
    }

    /// Returns the next body, or `nil` at the end of all files or if the task is cancelled.
    ///
    /// Throws for a file without a body, because an earlier step must have failed.
    mutating func next() throws(CommandError) -> Body? {
        while !Task.isCancelled {
            if pending == nil { pending = try nextLine() }
            if let line = pending {
                pending = nil
                guard !Self.isBlank(line) else { continue }
                isBlankSoFar = false
                return Body(bytes: line, origin: origin)
            }
            guard reader == nil else { continue }
            guard let path = paths.first else { return nil }
            guard division == .whole else {
                try open(path)
                continue
            }
            let bytes = try Self.readWhole(try Self.open(path), path)
            defer { paths.removeFirst() }
            guard !Self.isBlank(bytes) else { throw Self.noBody(Self.name(of: path)) }
            return Body(bytes: bytes, origin: BodyOrigin(path, input: paths.startIndex))
        }
        return nil
    }

    /// The line that was read last.
    private var origin: BodyOrigin {
        BodyOrigin(reader?.name ?? "", input: paths.startIndex - 1, line: reader?.lines.lineNumber)
    }

    private mutating func open(_ path: String) throws(CommandError) {
        let file = try Self.open(path)
        paths.removeFirst()
        isBlankSoFar = true
        reader = (LineReader(lineBytesMax: Self.bodyBytesMax, of: file), Self.name(of: path))
    }

    /// Returns the next line of the current file, even an empty one, or `nil` at its end.
    private mutating func nextLine() throws(CommandError) -> [UInt8]? {
        guard var lines = reader?.lines, let name = reader?.name else { return nil }
        // Clear the property, so that the buffer has a single owner and is not copied when it changes.
        reader = nil
        let line: [UInt8]?
        do { line = try lines.next() } catch {
            reader = (lines, name)
            if error is CancellationError { return nil }
            guard let error = error as? LineReader.LineTooLong else {
                throw CommandError(ExitCode.noInput, "cannot read \(name)")
            }
            throw CommandError(
                ExitCode.data,
                "\(name):\(error.lineNumber): the line is longer than "
                    + "\(Quantity.bytes(Self.bodyBytesMax)); is this a file of one body? (--whole)")
        }
        if line != nil { reader = (lines, name) } else if isBlankSoFar { throw Self.noBody(name) }
        return line
    }

    private static func isBlank(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { $0 == UInt8(ascii: " ") || (0x09...0x0D).contains($0) }
    }

    private static func noBody(_ name: String) -> CommandError {
        CommandError(ExitCode.data, "\(name) holds no body, only blanks or nothing")
    }

    /// The name of an input in messages.
    static func name(of path: String) -> String { path == "-" ? "standard input" : path }

    static func open(_ path: String) throws(CommandError) -> InputFile {
        let file = path == "-" ? InputFile.standardInput : InputFile(path: path)
        guard let file, !file.isFolder else { throw CommandError(ExitCode.noInput, "cannot read \(path)") }
        return file
    }

    private static func readWhole(_ file: InputFile, _ path: String) throws(CommandError) -> [UInt8] {
        let read: [UInt8]?
        do throws(InputFileError) { read = try file.readWhole(atMost: bodyBytesMax) } catch {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        guard let bytes = read else {
            throw CommandError(ExitCode.data, "\(path) is larger than \(Quantity.bytes(bodyBytesMax))")
        }
        return bytes
    }
}
