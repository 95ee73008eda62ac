import Platform
import Settings

/// Bodies from files or standard input, one after the other, bounded in memory.
struct BodySource {
    /// A body, and where it came from, for messages.
    struct Body {
        let bytes: [UInt8]
        let origin: String
    }

    enum Division {
        /// Each line that is not empty is a body.
        case lines
        /// Each file is one body, whatever is in it.
        case whole
    }

    /// More than any topic takes, so that the broker's refusal, not ours, is what one sees.
    private static let bodyBytesMax = 16 * 1_048_576

    private let division: Division
    private var paths: ArraySlice<String>
    private var reader: (lines: LineReader, name: String)?

    /// Throws a `CommandError` that names a file that cannot be read, before any body is.
    ///
    /// - Parameter paths: `-` is standard input.
    init(paths: [String], division: Division) throws(CommandError) {
        for path in paths where path != "-" && !FileSystem.isReadableFile(path) {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        self.paths = paths[...]
        self.division = division
    }

    /// The next body; nil when all files are read.
    mutating func next() throws(CommandError) -> Body? {
        while true {
            if reader == nil {
                guard let path = paths.popFirst() else { return nil }
                let file = try Self.open(path)
                if division == .whole {
                    return Body(bytes: try Self.readWhole(file, path), origin: path)
                }
                let lines = LineReader(lineBytesMax: Self.bodyBytesMax, of: file)
                reader = (lines, Self.name(of: path))
            }
            if let body = try nextLine() {
                return body
            }
        }
    }

    /// Nil when the file at hand is read.
    private mutating func nextLine() throws(CommandError) -> Body? {
        guard let name = reader?.name, var lines = reader?.lines else { return nil }
        do {
            while let line = try lines.next() {
                reader = (lines, name)
                guard line.contains(where: { $0 != UInt8(ascii: "\r") }) else { continue }
                return Body(bytes: line, origin: "\(name):\(lines.lineNumber)")
            }
        } catch let error as LineReader.LineTooLong {
            throw CommandError(
                ExitCode.data,
                "\(name):\(error.lineNumber): the line is longer than "
                    + "\(Quantity.bytes(Self.bodyBytesMax)); is this a file of one body? (--whole)"
            )
        } catch {
            throw CommandError(ExitCode.noInput, "cannot read \(name)")
        }
        reader = nil
        return nil
    }

    /// For messages.
    static func name(of path: String) -> String {
        path == "-" ? "standard input" : path
    }

    static func open(_ path: String) throws(CommandError) -> InputFile {
        let file = path == "-" ? InputFile.standardInput : InputFile(path: path)
        guard let file, !file.isFolder else {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        return file
    }

    private static func readWhole(
        _ file: InputFile,
        _ path: String
    ) throws(CommandError) -> [UInt8] {
        let read: [UInt8]?
        do throws(InputFileError) {
            read = try file.readWhole(atMost: bodyBytesMax)
        } catch {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        guard let bytes = read else {
            throw CommandError(
                ExitCode.data,
                "\(path) is larger than \(Quantity.bytes(bodyBytesMax))"
            )
        }
        return bytes
    }
}
