import AppStore
import Commands
import Foundation
package import JSON
import Kafka
import Records
import Settings
package import Store

extension DeadLetterRow {
    /// A letter as the index knows it.
    ///
    /// - Parameter topic: the dead-letter topic's name.
    static func columns(topic: String) -> [ReportColumn<DeadLetterRow>] {
        [
            .init("failed_at", title: "failed", rank: 1, \.failedAt), .init("stage", rank: 4, lengthMax: 10, \.stage),
            .init("reason", \.reason) { row in
                Printable.line(row.reason, lengthMax: 40) + (row.warning == nil ? "" : " (doubtful)")
            }, .init("state", rank: 2, \.state.rawValue),
            .words("transaction", rank: 3, lengthMax: 32) {
                $0.identifiers.transactionID ?? $0.identifiers.originalTransactionID ?? "-"
            }, .words("bundle", rank: 5, lengthMax: 32) { $0.identifiers.bundleID ?? "-" },
            .init("source", rank: 6, lengthMax: 80, \.source.position),
            .init("id", lengthMax: DeadLetterID.length, \.id), .member("class", \.deadLetterClass),
            .member("detail", \.detail), .member("position") { $0.position(in: topic) },
            .member("source_sha256", \.source.sha256), .member("source_timestamp", \.source.at), .member("raw", \.raw),
            .member("value", \.valueState), .member("omitted", \.omitted), .member("producer", \.producer),
            .member("worker", \.worker), .member("verifier_version", \.verifierVersion),
            .member("config_sha256", \.configurationSHA256), .member("group", \.groupID),
            .member("replay_of", \.replayOf), .member("chain_sha256", \.chainSHA256),
            .member("chain_previous", \.chainPrevious), .member("doubt", \.warning), .member("attempt", \.attempt),
            .member("copies", \.copies), .member("unverified", \.identifiers.json), .member("chain", \.certificates),
        ]
    }

    package func json(topic: String) -> JSONContent { JSONContent(self, Self.columns(topic: topic)) }
}

extension DeadLetterRow.Certificates: JSONRepresentable {
    /// The fingerprints that are known, with the role of each.
    package var named: [(role: String, fingerprint: String)] {
        [("leaf", leaf), ("intermediate", intermediate), ("root", root)].compactMap { role, text in
            text.map { (role, $0) }
        }
    }

    package var json: JSONContent { .object(named.map { ($0.role, ["sha256": $0.fingerprint]) }) }
}

extension UnverifiedIdentifiers {
    fileprivate var json: JSONContent {
        [
            "transaction_id": transactionID, "original_transaction_id": originalTransactionID, "bundle_id": bundleID,
            "environment": environment, "product_id": productID, "signed_at": signedDate,
        ]
    }
}

extension DeadLetter {
    var json: JSONContent {
        [
            "id": id, "reason": reason, "class": deadLetterClass, "detail": detail, "stage": stage,
            "failed_at": failedAt, "position": position, "source": source, "source_sha256": sourceSHA256,
            "source_timestamp": sourceTimestamp, "raw": raw, "value": value.rawValue, "omitted": omitted,
            "worker": worker, "verifier_version": verifierVersion, "config_sha256": configurationSHA256,
            "attempt": attempt, "unverified": identifiers.json, "chain": chainJSON,
        ]
    }

    /// The header as it is if it is JSON, else a string.
    private var chainJSON: JSONContent {
        guard let chain else { return .null }
        guard let document = try? JSONDocument(parsing: Array(chain.utf8)) else { return .string(chain) }
        return .raw(Array(document.root.rawBytes))
    }
}

extension DeadLetterOriginal {
    /// Key, value and header values in base64.
    var json: JSONContent {
        let headers = headers.map { header -> JSONContent in
            ["name": String(decoding: header.nameBytes, as: UTF8.self), "value_base64": Self.base64(header.value)]
        }
        return ["key_base64": Self.base64(key), "value_base64": Self.base64(value), "headers": headers]
    }

    private static func base64(_ bytes: [UInt8]?) -> String? { bytes.map { Data($0).base64EncodedString() } }
}
