import AppStore
import Postgres
import Records
import TestSupport
import Testing

@testable import Store

/// The index of dead letters: writing and searching.
@Suite(.timeLimit(.minutes(10))) struct DeadLetterTableTests {
    private typealias Sample = DeadLetterSample

    @Test func `a row is read as it was written`() async throws {
        let client = try await Sample.database()
        var whole = Sample.row(1)
        whole.omitted = "key,headers"
        whole.raw = RecordPosition(topic: "storekit.raw", partition: 6, offset: 99)
        whole.producer = "ingest-1"
        whole.replayOf = "0123"
        whole.chainSHA256 = "c0ffee"
        whole.chainPrevious = "decaf"
        whole.attempt = 2
        var bare = Sample.row(2, bundleID: nil)
        bare.identifiers = UnverifiedIdentifiers()
        bare.certificates = .init()
        bare.source.at = nil
        try await Sample.index([whole, bare], on: client)
        let read = try await DeadLetterTable.page(DeadLetterQuery(), limit: 10, on: client)
        #expect(read == [bare, whole])
        #expect(try await DeadLetterTable.get(["id1", "none"], on: client) == [whole])
    }

    @Test func `the first copy that matches its link counts, and contradictions are marked`() async throws {
        let client = try await Sample.database()
        var copies = [
            Sample.row(1, offset: 10, failedAt: Sample.start + 9, reason: "chain_invalid"),
            Sample.row(1, offset: 11, failedAt: Sample.start + 5, reason: "signature_invalid"),
            Sample.row(1, offset: 12, failedAt: Sample.start + 2, reason: "signature_invalid"),
            Sample.row(1, offset: 13, failedAt: Sample.start + 2, reason: "jws_malformed"),
        ]
        copies[0].doubt = "altered"
        copies[3].contentsSHA256 = "otherwise"
        for (id, copies) in [("alike", copies.dropLast()), ("disputed", copies[...])] {
            // In one batch, one by one in their order, and the other way round.
            for (way, order) in ["batch", "forth", "back"].enumerated() {
                let named = copies.map { copy in
                    var copy = copy
                    copy.id = id + order
                    copy.letterPartition = Int32(3 * (id == "alike" ? 0 : 1) + way)
                    return copy
                }
                let batches = order == "batch" ? [named] : (order == "forth" ? named : named.reversed()).map { [$0] }
                for (number, batch) in batches.enumerated() {
                    try await Sample.add(batch, offset: Int64(number), on: client)
                }
            }
        }
        let rows = try await DeadLetterTable.page(DeadLetterQuery(), limit: 100, on: client)
        #expect(rows.count == 6)
        for row in rows {
            #expect(row.reason == "signature_invalid" && row.letterOffset == 11, "\(row.id)")
            #expect(row.copies == (row.id.hasPrefix("alike") ? 3 : 4))
            #expect(row.isDisputed == row.id.hasPrefix("disputed"))
            #expect((row.warning == nil) == row.id.hasPrefix("alike"))
        }
        let counts = try await DeadLetterCounts.counts(by: .reason, DeadLetterQuery(), limit: 10, on: client)
        #expect(counts == [.init(value: "signature_invalid", letters: 6)])
    }

    @Test func `a redaction counts only if it is recorded`() async throws {
        let client = try await Sample.database()
        for (number, isRecorded) in [true, false].enumerated() {
            let letter = Sample.row(number, offset: 2 * Int64(number))
            if isRecorded {
                let action = NewDeadLetterAction(
                    who: try Sample.name("dpo"), kind: .redacted, why: "request 7", deadLetterID: letter.id)
                try await DeadLetterActionTable.append([action], on: client)
            }
            var redaction = letter
            redaction.letterOffset += 1
            redaction.valueState = DeadLetterRow.redacted
            redaction.identifiers = UnverifiedIdentifiers()
            try await Sample.index([letter, redaction], on: client)
            let row = try #require(try await DeadLetterTable.get([letter.id], on: client).first)
            #expect(row.isRedaction == isRecorded)
            #expect((row.identifiers.transactionID == nil) == isRecorded)
            #expect(row.warning == nil && row.copies == 2)
        }
        var alone = Sample.row(7, offset: 10)
        alone.valueState = DeadLetterRow.redacted
        try await Sample.index([alone], on: client)
        let row = try #require(try await DeadLetterTable.get([alone.id], on: client).first)
        #expect(row.warning?.contains("there is no record of it") == true)
    }

    @Test func `a record that is indexed again changes nothing`() async throws {
        let client = try await Sample.database()
        let rows = (0..<20).map { Sample.row($0) }
        #expect(try await Sample.index(rows, on: client) == 20)
        #expect(try await Sample.index(rows, on: client) == 0)
        // By another worker, that has not noticed that the partition is not its own any more.
        async let one = Sample.index((0..<40).map { Sample.row($0) }, on: client)
        async let other = Sample.index((0..<40).map { Sample.row($0) }, on: client)
        #expect(try await one + other == 20)
        #expect(try await DeadLetterCounts.count(DeadLetterQuery(), on: client) == 40)
        let read = try await DeadLetterTable.page(DeadLetterQuery(), limit: 100, on: client)
        #expect(read.allSatisfy { $0.copies == 1 })
    }

    @Test func `records that are not dead letters are counted`() async throws {
        let client = try await Sample.database()
        _ = try await DeadLetterIndexTable.add(
            [(partition: 2, offset: 7, row: nil), (partition: 2, offset: 8, row: nil)], of: Sample.topic,
            nextOffsets: [2: 12], on: client)
        let progress = try await DeadLetterIndexTable.progress(on: client)
        #expect(progress == [.init(topic: Sample.topic, partition: 2, nextOffset: 12, foreignCount: 2)])
    }

    @Test func `text that PostgreSQL does not take is stored printable and bounded`() async throws {
        let client = try await Sample.database()
        let long = String(repeating: "x", count: 100_000)
        var row = Sample.row(1, bundleID: "a\0b")
        row.id = long
        row.detail = long + "\0"
        row.worker = "\u{202E}<script>\u{1B}[2J"
        row.identifiers.transactionID = long
        row.identifiers.productID = long + "y"
        row.certificates.leaf = long
        row.failedAt = Timestamp(milliseconds: .max)
        row.identifiers.signedDate = Timestamp(milliseconds: .min)
        try await Sample.index([row], on: client)
        let read = try #require(try await DeadLetterTable.page(DeadLetterQuery(), limit: 1, on: client).first)
        #expect(read.identifiers.bundleID == "a\\u{0}b")
        #expect(read.id.utf8.count <= StorableText.bytesMax)
        #expect(read.identifiers.transactionID != read.identifiers.productID)
        #expect(read.worker == row.worker)
        // It is found by the original text.
        var query = DeadLetterQuery()
        query.transactionID = long
        query.bundleID = "a\0b"
        #expect(try await DeadLetterTable.page(query, limit: 1, on: client) == [read])
        #expect(try await DeadLetterTable.get([long], on: client) == [read])
        #expect(read.groupID == row.groupID)
    }

    private static let filters: [@Sendable (inout DeadLetterQuery) -> Void] = [
        { $0.reasons = ["bundle_mismatch"] }, { $0.classes = ["misrouted"] }, { $0.stages = ["link"] },
        { $0.states = [.resolved] }, { $0.bundleID = "org.other" }, { $0.environment = "Xcode" },
        { $0.productID = "silver" }, { $0.transactionID = "t3" }, { $0.transactionID = "o-3" },
        { $0.certificate = "FFEE" }, { $0.certificate = "ddcc" }, { $0.certificate = "bbaa" }, { $0.worker = "link-1" },
        { $0.source = RecordPosition("storekit.raw/3/3") }, { $0.source = RecordPosition("storekit.raw/9/9") },
        { $0.since = Timestamp(milliseconds: Sample.start + 50 * Sample.hour) }, { $0.ids = ["id3"] },
        { $0.group = special().groupID },
    ]

    private static func special() -> DeadLetterRow {
        var row = Sample.row(
            3, failedAt: Sample.start + 50 * Sample.hour, reason: "bundle_mismatch", bundleID: "org.other")
        row.stage = "link"
        row.identifiers.environment = "Xcode"
        row.identifiers.productID = "silver"
        row.identifiers.originalTransactionID = "o-3"
        row.certificates = .init(leaf: "ffee", intermediate: "ddcc", root: "bbaa")
        row.raw = RecordPosition(topic: "storekit.raw", partition: 9, offset: 9)
        row.worker = "link-1"
        return row
    }

    @Test func `each filter finds what it names, in pages, counts and groups`() async throws {
        let client = try await Sample.database()
        var rows = (0..<12).map { Sample.row($0) }
        rows[3] = Self.special()
        try await Sample.index(rows, on: client)
        try await DeadLetterActionTable.append(
            [NewDeadLetterAction(who: try Sample.name("anna"), kind: .resolved, why: "seen", deadLetterID: "id3")],
            on: client)
        for (index, filter) in Self.filters.enumerated() {
            var query = DeadLetterQuery()
            filter(&query)
            let page = try await DeadLetterTable.page(query, limit: 5, on: client)
            #expect(page.map(\.id) == ["id3"], "filter \(index)")
            #expect(try await DeadLetterCounts.count(query, on: client) == 1, "filter \(index)")
            let groups = try await DeadLetterGroupTable.largest(
                query, now: Timestamp(milliseconds: Sample.start), limit: 5, on: client)
            #expect(groups.map(\.id) == [Self.special().groupID], "filter \(index)")
        }
        var rest = DeadLetterQuery()
        rest.until = Timestamp(milliseconds: Sample.start + 50 * Sample.hour)
        rest.states = [.open]
        #expect(try await DeadLetterCounts.count(rest, on: client) == 11)
    }

    @Test func `pages follow each other without a gap, from either end`() async throws {
        let client = try await Sample.database()
        // Several failed in the same millisecond.
        try await Sample.index((0..<25).map { Sample.row($0, failedAt: Sample.start + Int64($0 / 10)) }, on: client)
        for order in [DeadLetterTable.Order.newestFirst, .oldestFirst] {
            let ids = try await Self.pages(DeadLetterQuery(), order, on: client)
            #expect(ids.count == 25)
            #expect(Set(ids).count == 25)
        }
    }

    @Test func `pages of a filter follow each other over hours and groups`() async throws {
        let client = try await Sample.database()
        let rows = (0..<60).map { number in
            var row = Sample.row(
                number,
                // Some in the same millisecond, some at the very edge of an hour.
                failedAt: Sample.start + Int64(number / 3 % 7) * Sample.hour
                    + (number % 11 == 0 ? Sample.hour - 1 : Int64(number % 4)),
                reason: ["signature_invalid", "bundle_mismatch", "x5c_missing"][number / 5 % 3],
                bundleID: number % 7 == 0 ? nil : "com.example.\(number % 2)")
            row.identifiers.productID = "product\(number % 2)"
            return row
        }
        try await Sample.index(rows, on: client)
        let changes: [(inout DeadLetterQuery) -> Void] = [
            { $0.reasons = ["bundle_mismatch", "x5c_missing"] }, { $0.worker = "verify-1" }, { $0.states = [.open] },
            { $0.certificate = "bb" }, { $0.environment = "Sandbox" },
            {
                $0.bundleID = "com.example.1"
                $0.classes = ["misrouted"]
                $0.since = Timestamp(milliseconds: Sample.start + 2 * Sample.hour + 2)
                $0.until = Timestamp(milliseconds: Sample.start + 5 * Sample.hour + 1)
            },
            {
                $0.reasons = ["x5c_missing"]
                $0.productID = "product1"
            },
        ]
        for (number, change) in changes.enumerated() {
            var query = DeadLetterQuery()
            change(&query)
            let wanted = rows.filter(query.matches).sorted {
                ($0.failedAt.milliseconds, $0.id) < ($1.failedAt.milliseconds, $1.id)
            }.map(\.id)
            #expect(!wanted.isEmpty, "filter \(number)")
            let ascending = try await Self.pages(query, .oldestFirst, on: client)
            #expect(ascending == wanted, "filter \(number)")
            let descending = try await Self.pages(query, .newestFirst, on: client)
            #expect(descending == wanted.reversed(), "filter \(number)")
        }
    }

    /// The IDs of all pages.
    private static func pages(_ query: DeadLetterQuery, _ order: DeadLetterTable.Order, on client: PostgresClient)
        async throws -> [String]
    {
        var ids: [String] = []
        var cursor: DeadLetterTable.Cursor?
        while true {
            let page = try await DeadLetterTable.page(query, after: cursor, limit: 4, order: order, on: client)
            ids += page.map(\.id)
            guard let last = page.last else { return ids }
            cursor = .init(last)
        }
    }

    @Test(arguments: [
        ("ID3", ["id3"]), ("t5", ["id5"]), ("o2", ["id5", "id4"]), ("org.other", ["id3"]), ("silver", ["id3"]),
        ("link-1", ["id3"]), ("FFEEDD", ["id3"]), ("bbaa99", ["id3"]), ("storekit.raw/9/9", ["id3"]),
        ("storekit.raw/3/7", ["id7"]), ("storekit.dead-letter/0/8", ["id8"]), ("nothing", []), ("%", []), ("aa", []),
    ]) func `any identifier is found`(text: String, ids: [String]) async throws {
        let client = try await Sample.database()
        var rows = (0..<9).map { Sample.row($0) }
        rows[3] = Self.special()
        rows[3].certificates = .init(leaf: "ffeedd00", intermediate: "ddcc", root: "bbaa9900")
        try await Sample.index(rows, on: client)
        let found = try await DeadLetterTable.search(text, limit: 5, on: client)
        #expect(found.map(\.id) == ids)
        #expect(try await DeadLetterTable.searchTotal(text, on: client) == Int64(ids.count))
        #expect(
            try await DeadLetterTable.search(Self.special().groupID, limit: 5, on: client).map(\.id)
                == (rows[3].groupID == Self.special().groupID ? ["id3"] : []))
    }
}
