import AppStore
import JSON
package import Settings

/// The settings of `verify-worker` alone.
package enum VerifySettings {
    package static let apps = Setting(
        "apps",
        .apps,
        "The apps whose purchases are accepted, each in one environment."
    )
    package static let bodyBytesMax = Setting(
        "verify.body_bytes_max",
        .bytes((1 << 10)...(16 << 20)),
        default: 1 << 20,
        "A larger body is refused unread."
    )
    package static let headerBytesMax = Setting(
        "verify.header_bytes_max",
        .bytes((1 << 10)...(1 << 20)),
        default: 16 << 10,
        "The header segment of a JWS at most, as encoded."
    )
    package static let certificateBytesMax = Setting(
        "verify.certificate_bytes_max",
        .bytes((1 << 10)...(64 << 10)),
        default: 8 << 10,
        "One certificate at most, as DER."
    )
    package static let jsonDepthMax = Setting(
        "verify.json_depth_max",
        .int(8...1024),
        default: 64,
        "How deep the JSON of a body or a header may nest."
    )
    package static let payloadDepthMax = Setting(
        "verify.payload_depth_max",
        .int(8...VerifierLimits.payloadDepthMax),
        default: VerifierLimits.payloadStandard.depthMax,
        "How deep a signed payload may nest; later stages read it as a part of something larger."
    )
    package static let itemsMax = Setting(
        "verify.items_max",
        .int(1...100_000),
        default: 500,
        "Purchases or events in one body at most."
    )
    /// Four bodies at their limit.
    package static let outputBytesMaxDefault = 4 << 20
    package static let outputBytesMax = Setting(
        "verify.output_bytes_max",
        .bytes((1 << 10)...(64 << 20)),
        default: outputBytesMaxDefault,
        "What one body may bring out at most, all its observations together."
    )
    package static let chainsCachedMax = Setting(
        "verify.chains_cached_max",
        .int(1...10_000),
        default: 32,
        "Verified certificate chains that a thread remembers."
    )
    package static let keyTablesMax = Setting(
        "verify.key_tables_max",
        .int(0...1_000),
        // Arithmetic of our own on signatures is for those who ask for it.
        default: 0,
        "Leaf keys for which a worker keeps a table of 160 KiB that halves the cost of their "
            + "signatures; 0 for OpenSSL's own verification alone."
    )
    package static let threads = Setting(
        "verify.threads",
        .int(1...256),
        default: 2,
        "How many threads verify one batch together."
    )
    package static let revocation = Setting(
        "verify.revocation",
        .choice,
        default: RevocationPolicy.Mode.off,
        "Whether responders are asked (OCSP) if certificates are revoked: what is not known passes "
            + "and is counted (`soft`), or waits (`hard`, for which an app's own root has to name "
            + "a responder)."
    )
    package static let revocationInterval = Setting(
        "verify.revocation_interval",
        .duration(.milliseconds(100)...(.seconds(7 * 86_400))),
        default: .seconds(3600),
        "Between two such questions about one certificate; ten seconds at most after one in vain."
    )
    package static let revocationDeadline = Setting(
        "verify.revocation_deadline",
        .duration(.seconds(1)...(.seconds(60))),
        default: .seconds(5),
        "How long one such answer may take, in whole seconds."
    )

    package static let breakerRefusedMax = Setting(
        "breaker.refused_max",
        .int(1...1_000_000),
        default: 1000,
        "Distinct signed payloads refused only by the settings, before these have accepted any, at "
            + "which the worker settles nothing more: the settings are taken to be wrong."
    )
    package static let breakerArmedMax = Setting(
        "breaker.armed_max",
        .duration(.seconds(1)...(.seconds(86_400))),
        default: .seconds(60),
        "How long after the first batch such records are held back and counted."
    )

    /// Those that decide what is refused.
    package static let decisive = [
        apps.declaration, bodyBytesMax.declaration, headerBytesMax.declaration,
        certificateBytesMax.declaration, jsonDepthMax.declaration, payloadDepthMax.declaration,
        itemsMax.declaration, outputBytesMax.declaration, revocation.declaration,
    ]

    package static let declarations = [
        apps.declaration, bodyBytesMax.declaration, headerBytesMax.declaration,
        certificateBytesMax.declaration, jsonDepthMax.declaration, payloadDepthMax.declaration,
        itemsMax.declaration, outputBytesMax.declaration, chainsCachedMax.declaration,
        keyTablesMax.declaration, threads.declaration, revocation.declaration,
        revocationInterval.declaration, revocationDeadline.declaration,
        breakerRefusedMax.declaration, breakerArmedMax.declaration,
    ]
}
