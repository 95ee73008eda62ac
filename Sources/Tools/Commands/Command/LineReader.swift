package import Platform

/// Splits a stream of bytes into unchanged lines, in bounded memory.
///
/// A line ends with a line feed, which is not part of the line; the last line may lack it. A
/// carriage return is kept, because a body is published byte for byte.
package struct LineReader: Sendable {
    /// An error for a line that is longer than `lineBytesMax`.
    package struct LineTooLong: Error, Hashable { package let lineNumber: Int }

    private let lineBytesMax: Int
    private let readChunk: @Sendable () throws -> [UInt8]
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The number of the line that `next` returned last, from 1.
    package private(set) var lineNumber = 0

    /// - Parameter readChunk: returns the next bytes, or none at the end.
    package init(lineBytesMax: Int, readChunk: @escaping @Sendable () throws -> [UInt8]) {
        self.lineBytesMax = lineBytesMax
        self.readChunk = readChunk
    }

    /// Returns the next line, or `nil` at the end.
    ///
    /// Throws `LineTooLong`, and the errors of `readChunk`.
    package mutating func next() throws -> [UInt8]? {
        var searched = position
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) { return take(upTo: end, skipping: 1) }
            searched = buffer.count
            if isAtEnd { return position == buffer.count ? nil : take(upTo: buffer.count, skipping: 0) }
            guard buffer.count - position <= lineBytesMax else { throw LineTooLong(lineNumber: lineNumber + 1) }
            searched -= try refill()
        }
    }

    private mutating func take(upTo end: Int, skipping: Int) -> [UInt8] {
        defer { position = end + skipping }
        lineNumber += 1
        return Array(buffer[position..<end])
    }

    /// Appends a chunk; returns the number of bytes by which the buffer moved to the front.
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

    private static let patience = Duration.milliseconds(200)

    /// Reads a file or a pipe to its end; throws `CancellationError` if the task is cancelled while
    /// a pipe has nothing to read.
    package init(lineBytesMax: Int, of file: InputFile) {
        self.init(lineBytesMax: lineBytesMax) {
            while !file.isReadable(within: Self.patience) { try Task.checkCancellation() }
            return try file.read(upTo: Self.chunkBytes)
        }
    }
}
