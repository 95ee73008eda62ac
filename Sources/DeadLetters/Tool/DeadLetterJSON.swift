import AppStore
import Foundation
import JSON
import Kafka
import Records
package import Store

/// Dead letters as JSON, for other programs.
package enum DeadLetterJSON {
    /// The indexed part of one letter.
    ///
    /// - Parameter topic: the dead-letter topic's name.
    package static func object(_ row: DeadLetterRow, topic: String) -> [UInt8] {
        var writer = JSONWriter(reserving: 1024)
        writer.object { writer in
            member(texts(row, topic), &writer)
            writer.key("attempt")
            writer.int(row.attempt)
            writer.key("copies")
            writer.int(row.copies)
            unverified(row.identifiers, &writer)
            writer.key("chain")
            writer.object { writer in
                let certificates = [
                    ("leaf", row.certificates.leaf),
                    ("intermediate", row.certificates.intermediate),
                    ("root", row.certificates.root),
                ]
                for case (let role, let digest?) in certificates {
                    writer.key(role)
                    writer.object { member([("sha256", digest)], &$0) }
                }
            }
        }
        return writer.bytes
    }

    private static func texts(_ row: DeadLetterRow, _ topic: String) -> [(String, String?)] {
        [
            ("id", row.id), ("state", row.state.rawValue), ("reason", row.reason),
            ("class", row.deadLetterClass), ("detail", row.detail), ("stage", row.stage),
            ("failed_at", row.failedAt.description),
            ("position", "\(topic)/\(row.letterPartition)/\(row.letterOffset)"),
            ("source", row.source.position.description), ("source_sha256", row.source.sha256),
            ("source_timestamp", row.source.at?.description), ("raw", row.raw?.description),
            ("value", row.valueState), ("omitted", row.omitted), ("producer", row.producer),
            ("worker", row.worker), ("verifier_version", row.verifierVersion),
            ("config_sha256", row.configurationSHA256), ("group", row.groupID),
            ("replay_of", row.replayOf), ("chain_sha256", row.chainSHA256),
            ("chain_previous", row.chainPrevious), ("doubt", row.warning),
        ]
    }

    /// Writes the members of a letter from its headers.
    static func write(_ letter: DeadLetter, _ writer: inout JSONWriter) {
        let texts: [(String, String?)] = [
            ("id", letter.id), ("reason", letter.reason), ("class", letter.deadLetterClass),
            ("detail", letter.detail), ("stage", letter.stage),
            ("failed_at", letter.failedAt.description), ("position", letter.position.description),
            ("source", letter.source.description), ("source_sha256", letter.sourceSHA256),
            ("source_timestamp", letter.sourceTimestamp?.description),
            ("raw", letter.raw?.description), ("value", letter.value.rawValue),
            ("omitted", letter.omitted), ("worker", letter.worker),
            ("verifier_version", letter.verifierVersion),
            ("config_sha256", letter.configurationSHA256),
        ]
        member(texts, &writer)
        writer.key("attempt")
        writer.int(letter.attempt)
        unverified(letter.identifiers, &writer)
        if let chain = letter.chain {
            writer.key("chain")
            if let document = try? JSONDocument(parsing: Array(chain.utf8)) {
                writer.raw(document.root.rawBytes)
            } else {
                writer.string(chain)
            }
        }
    }

    private static func unverified(
        _ identifiers: UnverifiedIdentifiers,
        _ writer: inout JSONWriter
    ) {
        writer.key("unverified")
        writer.object { writer in
            let texts: [(String, String?)] = [
                ("transaction_id", identifiers.transactionID),
                ("original_transaction_id", identifiers.originalTransactionID),
                ("bundle_id", identifiers.bundleID), ("environment", identifiers.environment),
                ("product_id", identifiers.productID),
                ("signed_date", identifiers.signedDate.map { String($0.milliseconds) }),
            ]
            member(texts, &writer)
        }
    }

    /// Writes the members of an original: key, value and header values in base64.
    static func write(_ original: DeadLetterOriginal, _ writer: inout JSONWriter) {
        writer.key("key_base64")
        base64(original.key, &writer)
        writer.key("value_base64")
        base64(original.value, &writer)
        writer.key("headers")
        writer.array { writer in
            for header in original.headers {
                writer.object { writer in
                    writer.key("name")
                    writer.string(utf8: header.nameBytes)
                    writer.key("value_base64")
                    base64(header.value, &writer)
                }
            }
        }
    }

    /// Writes members of text, except missing ones.
    static func member(_ texts: [(String, String?)], _ writer: inout JSONWriter) {
        for (name, text) in texts {
            guard let text else { continue }
            writer.key(name)
            writer.string(text)
        }
    }

    private static func base64(_ bytes: [UInt8]?, _ writer: inout JSONWriter) {
        guard let bytes else {
            writer.null()
            return
        }
        writer.string(Data(bytes).base64EncodedString())
    }
}
