import AppStore
import Foundation
import JSON
import Kafka
import KitWrappers
import Records
import Simulation
import TestSupport
import Testing

@testable import DeadLetters

/// Any body that a sender can make is shown at a bounded cost.
@Suite(.timeLimit(.minutes(10))) struct HostileBodyTests {
    private static let shownBytesMax = 2 << 20
    private static let secondsMax = 10.0

    private static func threadSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test func `each hostile body is shown in bounded time and size`() throws {
        for body in try HostileBody.all() {
            let start = Self.threadSeconds()
            let record = Sample.consumed(
                DeadLetterWriter(Sample.context()).letter(
                    for: Sample.original(value: body.bytes), Sample.refusal, value: .original))
            let dossier = LetterDossier((try DeadLetter(decoding: record), record))
            for isRevealing in [false, true] {
                let text = dossier.text(isRevealing: isRevealing)
                #expect(text.utf8.count < Self.shownBytesMax, "\(body)")
            }
            let json = dossier.json(isRevealing: false).bytes
            #expect(json.count < Self.shownBytesMax, "\(body)")
            #expect((try? JSONDocument(parsing: json, policy: .grammar)) != nil, "\(body)")
            #expect(Self.threadSeconds() - start < Self.secondsMax, "\(body)")
        }
    }

    @Test func `a chain that a forger has nested up to the reader's limit is shown`() throws {
        var letter = DeadLetterWriter(Sample.context()).letter(for: Sample.original(), Sample.refusal, value: .original)
        let depth = JSONLimits.standard.depthMax
        let chain = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        letter.headers = letter.headers.map { header in
            header.name == DeadLetterHeader.chain ? KafkaHeader(name: header.name, text: chain) : header
        }
        let record = Sample.consumed(letter)
        let json = LetterDossier((try DeadLetter(decoding: record), record)).json(isRevealing: false)
        #expect(String(decoding: json.bytes, as: UTF8.self).contains(#""chain":\#(chain)"#))
    }

    /// Address space, most of which libraries and threads take.
    private static let kilobytesMax = 1_500_000

    @Test func `the tool shows each hostile body within a limit of memory and time`() async throws {
        let cluster = try await KafkaCluster(.mock)
        let topic = "storekit.dead-letter"
        try cluster.mock?.createTopic(topic, partitions: 1)
        let bodies = try HostileBody.all()
        let producer = try KafkaProducer(configuration: cluster.client.merging(["message.max.bytes": "4000000"]) { $1 })
        for (offset, body) in bodies.enumerated() {
            let letter = DeadLetterWriter(Sample.context()).letter(
                for: Sample.original(offset: Int64(offset), value: body.bytes), Sample.refusal, value: .original)
            let report = await producer.send([letter])
            try #require(report.failures.isEmpty, "\(body): \(report.failures)")
        }
        await producer.close(deadline: .seconds(10))
        for (offset, body) in bodies.enumerated() {
            let command = "ulimit -v \(Self.kilobytesMax); exec \"$0\" \"$@\""
            let show = try ChildProcess(
                executable: "/bin/sh",
                arguments: [
                    "-c", command, ToolProcessTests.executable, "show", "storekit.raw/3/\(offset)", "--kafka",
                    cluster.bootstrapServers,
                ], environment: ["SWIFT_BACKTRACE": "enable=no", "PATH": "/usr/bin:/bin"])
            let end = try await show.waitForEnd(deadline: .hopeless)
            #expect(end == .exited(code: 0), "\(body): \(end)")
        }
    }
}
