import AppStore
import Postgres
import Records
import TestSupport

@testable import Store

/// Rows of dead letters, and the database that takes them.
enum DeadLetterSample {
    static let topic = "storekit.dead-letter"
    /// 2026-01-01T00:00:00Z.
    static let start: Int64 = 1_767_225_600_000
    static let hour: Int64 = 3_600_000

    static func database() async throws -> PostgresClient {
        var options = try await PostgresServer.shared.migratedDatabase()
        options.sessionSettings = DeadLetterTable.sessionSettings
        return PostgresClient(options, connectionsMax: 4)
    }

    static func row(
        _ number: Int, offset: Int64? = nil, failedAt: Int64? = nil, reason: String = "signature_invalid",
        bundleID: String? = "com.example"
    ) -> DeadLetterRow {
        let source = RecordPosition(topic: "storekit.raw", partition: 3, offset: Int64(number))
        var identifiers = UnverifiedIdentifiers()
        identifiers.transactionID = "t\(number)"
        identifiers.originalTransactionID = "o\(number / 2)"
        identifiers.bundleID = bundleID
        identifiers.environment = number % 2 == 0 ? "Production" : "Sandbox"
        identifiers.productID = "gold"
        identifiers.signedDate = Timestamp(milliseconds: start)
        return DeadLetterRow(
            id: "id\(number)", letterPartition: 0, letterOffset: offset ?? Int64(number),
            failedAt: Timestamp(milliseconds: failedAt ?? start + Int64(number) * 1000), reason: reason,
            deadLetterClass: reason == "signature_invalid" ? "forged" : "misrouted", stage: "verify",
            detail: "it does not match", valueState: "original",
            source: .init(position: source, at: Timestamp(milliseconds: start), sha256: "00ff"),
            identifiers: identifiers, certificates: .init(leaf: "aa11", intermediate: "bb22", root: "cc33"),
            verifierVersion: "1.0.0", configurationSHA256: "5e77", attempt: 1, worker: "verify-\(number % 3)")
    }

    /// Indexes the rows as one partition's, in the order of their offsets.
    @discardableResult static func index(_ rows: [DeadLetterRow], on client: PostgresClient) async throws -> Int {
        let ordered = rows.sorted { $0.letterOffset < $1.letterOffset }
        return try await DeadLetterIndexTable.add(
            ordered.map { (partition: 0, offset: $0.letterOffset, row: $0) }, of: topic,
            nextOffsets: [0: (ordered.last?.letterOffset ?? -1) + 1], on: client)
    }

    /// Indexes copies of letters, as the next records of a separate partition.
    static func add(_ rows: [DeadLetterRow], offset: Int64, on client: PostgresClient) async throws {
        let partition = rows[0].letterPartition
        _ = try await DeadLetterIndexTable.add(
            rows.enumerated().map { index, row in (partition, offset + Int64(index), row) }, of: topic,
            nextOffsets: [partition: offset + Int64(rows.count)], on: client)
    }

    static func name(_ text: String) throws -> AuditorName {
        guard let name = AuditorName(text) else { throw NoName() }
        return name
    }

    struct NoName: Error {}
}
