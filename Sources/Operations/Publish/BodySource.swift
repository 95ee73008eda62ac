import Foundation
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

    /// - Parameter paths: `-` is standard input.
    init(paths: [String], division: Division) {
        self.paths = paths[...]
        self.division = division
    }

    /// The next body; nil when all files are read.
    mutating func next() throws(CommandError) -> Body? {
        while true {
            if reader == nil {
                guard let path = paths.popFirst() else { return nil }
                let handle = try Self.open(path)
                if division == .whole {
                    return Body(bytes: try Self.readWhole(handle, path), origin: path)
                }
                let lines = LineReader(lineBytesMax: Self.bodyBytesMax, of: handle)
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

    static func open(_ path: String) throws(CommandError) -> FileHandle {
        if path == "-" {
            return .standardInput
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            !isFolder.boolValue, let handle = FileHandle(forReadingAtPath: path)
        else {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        return handle
    }

    private static func readWhole(
        _ handle: FileHandle,
        _ path: String
    ) throws(CommandError) -> [UInt8] {
        do {
            let bytes = try handle.read(upToCount: bodyBytesMax + 1).map { [UInt8]($0) } ?? []
            guard bytes.count <= bodyBytesMax else {
                throw CommandError(
                    ExitCode.data,
                    "\(path) is larger than \(Quantity.bytes(bodyBytesMax))"
                )
            }
            return bytes
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
    }
}

/// Cuts a stream of bytes into lines, bounded in memory, and changes nothing in them.
///
/// A line ends with a line feed, which is not part of it; a last line without one counts. A
/// carriage return stays: a body is published byte for byte.
struct LineReader {
    struct LineTooLong: Error, Hashable {
        let lineNumber: Int
    }

    private let lineBytesMax: Int
    private let readChunk: () throws -> [UInt8]
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The number of the line that `next` gave last, from 1.
    private(set) var lineNumber = 0

    /// - Parameter readChunk: gives the next bytes, none at the end.
    init(lineBytesMax: Int, readChunk: @escaping () throws -> [UInt8]) {
        self.lineBytesMax = lineBytesMax
        self.readChunk = readChunk
    }

    /// The next line; nil at the end.
    mutating func next() throws -> [UInt8]? {
        var searched = position
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                return take(upTo: end, skipping: 1)
            }
            searched = buffer.count
            if isAtEnd {
                return position == buffer.count ? nil : take(upTo: buffer.count, skipping: 0)
            }
            guard buffer.count - position <= lineBytesMax else {
                throw LineTooLong(lineNumber: lineNumber + 1)
            }
            searched -= try refill()
        }
    }

    private mutating func take(upTo end: Int, skipping: Int) -> [UInt8] {
        defer { position = end + skipping }
        lineNumber += 1
        return Array(buffer[position..<end])
    }

    /// Appends a chunk; returns by how much the bytes moved to the front.
    private mutating func refill() throws -> Int {
        let moved = position
        buffer.removeFirst(moved)
        position = 0
        let chunk = try readChunk()
        isAtEnd = chunk.isEmpty
        buffer.append(contentsOf: chunk)
        return moved
    }
}

extension LineReader {
    private static let chunkBytes = 65_536

    /// Reads a file or a pipe to its end.
    init(lineBytesMax: Int, of handle: FileHandle) {
        self.init(lineBytesMax: lineBytesMax) {
            try handle.read(upToCount: Self.chunkBytes).map { [UInt8]($0) } ?? []
        }
    }
}
