import AppStore
import Foundation
import JSON
import Kafka
import Records

/// Dead letters as JSON, for other programs.
enum DeadLetterJSON {
    /// One letter without the original's content.
    static func object(_ letter: DeadLetter) -> [UInt8] {
        var writer = JSONWriter(reserving: 1024)
        writer.object { write(letter, &$0) }
        return writer.bytes
    }

    /// One letter with the original: key, value and header values in base64.
    static func object(_ letter: DeadLetter, _ original: DeadLetterOriginal) -> [UInt8] {
        var writer = JSONWriter(reserving: 4096)
        writer.object { writer in
            write(letter, &writer)
            writer.key("original")
            writer.object { write(original, &$0) }
        }
        return writer.bytes
    }

    private static func write(_ letter: DeadLetter, _ writer: inout JSONWriter) {
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
        writer.key("unverified")
        writer.object { writer in
            let identifiers = letter.identifiers
            let texts: [(String, String?)] = [
                ("transaction_id", identifiers.transactionID),
                ("original_transaction_id", identifiers.originalTransactionID),
                ("bundle_id", identifiers.bundleID), ("environment", identifiers.environment),
                ("product_id", identifiers.productID),
                ("signed_date", identifiers.signedDate.map { String($0.milliseconds) }),
            ]
            member(texts, &writer)
        }
        if let chain = letter.chain {
            writer.key("chain")
            if let document = try? JSONDocument(parsing: Array(chain.utf8)) {
                writer.raw(document.root.rawBytes)
            } else {
                writer.string(chain)
            }
        }
    }

    private static func write(_ original: DeadLetterOriginal, _ writer: inout JSONWriter) {
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

    private static func member(_ texts: [(String, String?)], _ writer: inout JSONWriter) {
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
