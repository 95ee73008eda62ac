import AppStore
import JSON
import Operations
import Records
import Settings

/// Every step that the product takes over a body, and what bounds its cost: the table that
/// `bench verify` prints beside what hostile bodies cost.
///
/// A step is linear in what it reads, or its factor is a limit with a name. Who adds a step adds a
/// row here and one to `HostileFixture`.
struct VerifierSteps {
    private struct Step {
        let name: String
        let place: String
        let cost: String
        let bound: String

        init(_ name: String, _ place: String, _ cost: String, bound: String = "") {
            (self.name, self.place, self.cost, self.bound) = (name, place, cost, bound)
        }
    }

    private static let limits = VerifierLimits.standard

    private static let body = [
        Step(
            "recognition",
            "BodyForm",
            "each byte four times",
            bound: "\(limits.bodyBytesMax) bytes"
        ),
        Step(
            "JSON",
            "JSONParser",
            "each byte once, without recursion",
            bound: "depth \(limits.json.depthMax), values \(limits.json.nodesMax)"
        ),
        Step(
            "an object's keys",
            "JSONParser+Keys",
            "names among each other; all else once, by a secret hash",
            bound: "32 names of 32 bytes"
        ),
        Step("members", "KnownMembers", "each object once, each key to a name's length"),
        Step("items", "EnvelopeShape", "each once", bound: "\(limits.itemsMax) items"),
        Step(
            "claims",
            "ClaimCheck",
            "each item by each claim, to the first difference",
            bound: "13 claims x \(limits.itemsMax) items"
        ),
        Step("items among each other", "ItemAgreement", "each item once"),
    ]

    private static let tokens = [
        Step("segments", "CompactJWS", "each byte once"),
        Step(
            "known chains",
            "VerifiedChainCache",
            "each known header's bytes",
            bound: "\(limits.chainsCachedMax) headers"
        ),
        Step("base64", "Base64", "each byte once"),
        Step("header", "JWSHeader", "as JSON", bound: "\(limits.headerSegmentBytesMax) bytes"),
        Step(
            "certificates",
            "DERScan, Certificate",
            "each byte once, then what a parser makes of the elements",
            bound: "3 x \(limits.certificateBytesMax) bytes, 192 elements each"
        ),
        Step("chain", "ChainPolicy", "each configured root by name", bound: "the settings' roots"),
        Step("signatures", "CertificateSignatures, P256Verifier", "two and one at most"),
        Step(
            "payload, once it is known who signed it",
            "Verifier+Statement",
            "as JSON, then each member once",
            bound: "depth \(limits.payload.depthMax), values \(limits.payload.nodesMax)"
        ),
    ]

    private static let receipts = [
        Step("a receipt's text", "ReceiptText", "each byte three times"),
        Step(
            "a receipt of iOS 6",
            "LegacyReceipt",
            "each byte once for each of five keys",
            bound: "64 KiB"
        ),
        Step(
            "a receipt's form",
            "BERScan, MessageOutline",
            "each byte once, then what a parser makes of the elements",
            bound: "4096 elements, depth 24, strings in strings 4"
        ),
        Step(
            "a receipt's attributes, once it is known who signed it",
            "ReceiptAttribute, ReceiptObject",
            "each once, sorted",
            bound: "256 attributes, \(limits.itemsMax) records of 256"
        ),
    ]

    private static let results = [
        Step("observations", "Observation.encode", "each output byte once"),
        Step(
            "search fields of what is refused",
            "UnverifiedIdentifiers",
            "one item: as JSON without its rules, each member once; one receipt's first attributes",
            bound: "255 bytes each, 512 attributes"
        ),
        Step("a dead letter", "Refusal", "one digest of the value"),
        Step("content hash, of what is signed", "ContentHash", "members sorted, each byte once"),
    ]

    var lines: [String] {
        var table = TextTable([
            .init("step over a body"), .init("where"), .init("cost"), .init("bounded by"),
        ])
        for step in Self.body + Self.tokens + Self.receipts + Self.results {
            table.add([step.name, step.place, step.cost, step.bound])
        }
        return table.lines()
    }
}
