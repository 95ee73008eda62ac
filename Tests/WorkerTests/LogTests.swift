import Foundation
import JSON
import Settings
import Telemetry
import Testing

@Suite struct LogTests {
    /// The lines that a handler writes for the events of `body`.
    private func lines(level: LogLevel = .info, _ body: (Log) -> Void) throws -> [JSONValue] {
        let pipe = Pipe()
        let handler = JSONLogHandler(level: level, descriptor: pipe.fileHandleForWriting.fileDescriptor)
        body(Log(handler, metadata: ["service.name": "verify-worker"]))
        try pipe.fileHandleForWriting.close()
        let written = Array(pipe.fileHandleForReading.readDataToEndOfFile())
        return try written.split(separator: UInt8(ascii: "\n")).map { try JSONDocument(parsing: Array($0)).root }
    }

    @Test func `an event is one line of JSON with its metadata`() throws {
        let lines = try lines { log in
            log.with(["kafka.topic": "storekit.raw"]).warning(
                "poll failed",
                [
                    "kafka.partition": 3, "error.message": "a \"quote\"\nand a line",
                    "retry.delay_seconds": .seconds(.milliseconds(1500)), "retry.is_last": false,
                    "kafka.partitions": .array([1, 2]),
                ])
        }
        let line = try #require(lines.first)
        #expect(lines.count == 1)
        #expect(line["time"]?.string?.hasSuffix("Z") == true)
        #expect(line["level"]?.string == "warning")
        #expect(line["message"]?.string == "poll failed")
        #expect(line["service.name"]?.string == "verify-worker")
        #expect(line["kafka.topic"]?.string == "storekit.raw")
        #expect(line["kafka.partition"]?.int64 == 3)
        #expect(line["error.message"]?.string == "a \"quote\"\nand a line")
        #expect(line["retry.delay_seconds"]?.double == 1.5)
        #expect(line["retry.is_last"]?.bool == false)
        #expect(line["kafka.partitions"]?.count == 2)
    }

    @Test func `events below the level are not made`() throws {
        let lines = try lines(level: .warning) { log in
            log.debug("no")
            log.notice("no")
            log.error("yes")
        }
        #expect(lines.map { $0["message"]?.string } == ["yes"])
    }

    @Test func `of a key given twice the later value stands`() throws {
        let lines = try lines { log in log.info("twice", ["service.name": "other", "a": 1, "a": 2]) }
        #expect(lines.first?["service.name"]?.string == "other")
        #expect(lines.first?["a"]?.int64 == 2)
    }

    @Test func `a long value is cut`() throws {
        let lines = try lines { log in log.info("long", ["text": .string(String(repeating: "ü", count: 100_000))]) }
        let text = try #require(lines.first?["text"]?.string)
        #expect(text.utf8.count <= LogValue.stringBytesMax + 8)
    }

    @Test func `a number that JSON does not have becomes null`() throws {
        let lines = try lines { $0.info("odd", ["value": .double(.nan)]) }
        #expect(lines.first?["value"]?.isNull == true)
    }

    @Test func `lines of many threads do not mix`() async throws {
        let path = NSTemporaryDirectory() + "log-\(UUID().uuidString)"
        defer { unlink(path) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        let log = Log(JSONLogHandler(level: .info, descriptor: descriptor))
        await withTaskGroup { group in
            for task in 0..<8 { group.addTask { for _ in 0..<200 { log.info("event", ["task.number": .int(task)]) } } }
        }
        close(descriptor)
        let written = FileManager.default.contents(atPath: path) ?? Data()
        let lines = Array(written).split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 1600)
        for line in lines { #expect(throws: Never.self) { try JSONDocument(parsing: Array(line)) } }
    }
}
