import AppStore
import Foundation
package import JSON
import Kafka
import Records
package import Commands
import Settings
package import Store

extension DeadLetterRow {
    /// The columns of a letter in the index.
    ///
    /// - Parameter topic: the dead-letter topic's name.
    package static func columns(topic: String) -> [ReportColumn<DeadLetterRow>] {
        [
            .init("reason", lengthMax: 40, \.reason), .init("failed_at", title: "failed", rank: 1, \.failedAt),
            .init("stage", rank: 4, lengthMax: 10, \.stage), .init("state", rank: 2, \.state.rawValue),
            .init("doubt", \.warning) { $0.warning == nil ? "" : "doubtful" },
            .words("transaction", rank: 3, lengthMax: 32) {
                $0.identifiers.transactionID ?? $0.identifiers.originalTransactionID ?? "-"
            }, .words("bundle", rank: 5, lengthMax: 32) { $0.identifiers.bundleID ?? "-" },
            .init("source", rank: 6, lengthMax: 80, \.source.position),
            .init("id", lengthMax: DeadLetterID.length, \.id), .member("class", \.deadLetterClass),
            .init("detail", rank: 7, lengthMax: 160, \.detail), .member("position") { $0.position(in: topic) },
            .member("source_sha256", \.source.sha256), .member("source_timestamp", \.source.at), .member("raw", \.raw),
            .member("value", \.valueState), .member("omitted", \.omitted), .member("producer", \.producer),
            .member("worker", \.worker), .member("verifier_version", \.verifierVersion),
            .member("config_sha256", \.configurationSHA256), .member("group", \.groupID),
            .member("replay_of", \.replayOf), .member("chain_sha256", \.chainSHA256),
            .member("chain_previous", \.chainPrevious), .member("attempt", \.attempt), .member("copies", \.copies),
            .member("unverified", \.identifiers.json), .member("chain", \.certificates),
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
