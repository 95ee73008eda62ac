import AppStore
import JSON
package import Settings

/// The settings that only `verify-worker` has.
package enum VerifySettings {
    package static let apps = SharedSettings.apps
    package static let bodyBytesMax = Setting(
        "verify.body_bytes_max", .bytes((1 << 10)...(16 << 20)), default: 1 << 20,
        "Maximum bytes of a body; a larger one is refused unread.")
    package static let headerBytesMax = Setting(
        "verify.header_bytes_max", .bytes((1 << 10)...(1 << 20)), default: 16 << 10,
        "Maximum bytes of the header segment of a JWS, as encoded.")
    package static let certificateBytesMax = Setting(
        "verify.certificate_bytes_max", .bytes((1 << 10)...(64 << 10)), default: 8 << 10,
        "Maximum bytes of one certificate, as DER.")
    package static let jsonDepthMax = Setting(
        "verify.json_depth_max", .int(8...1024), default: 64, "Maximum nesting of the JSON of a body or a header.")
    package static let payloadDepthMax = Setting(
        "verify.payload_depth_max", .int(8...VerifierLimits.payloadDepthMax),
        default: VerifierLimits.payloadStandard.depthMax, "Maximum nesting of a signed payload.")
    package static let itemsMax = Setting(
        "verify.items_max", .int(1...100_000), default: 500, "Maximum purchases or events in one body.")
    /// The default: four bodies at their size limit.
    package static let outputBytesMaxDefault = 4 << 20
    package static let outputBytesMax = Setting(
        "verify.output_bytes_max", .bytes((1 << 10)...(64 << 20)), default: outputBytesMaxDefault,
        "Maximum bytes of all observations of one body together.")
    package static let chainsCachedMax = Setting(
        "verify.chains_cached_max", .int(1...10_000), default: 32, "Verified certificate chains cached per thread.")
    package static let keyTablesMax = Setting(
        "verify.key_tables_max", .int(0...1_000), default: VerifierLimits.standard.keyTablesMax,
        "Leaf keys with a precomputed table of 160 KiB, which halves the cost of their signatures; "
            + "0 for OpenSSL's own verification alone.")
    package static let threads = Setting(
        "verify.threads", .int(1...256), default: 2, "Threads that verify one batch together.")
    package static let revocation = Setting(
        "verify.revocation", .choice, default: RevocationPolicy.Mode.off,
        "Revocation check (OCSP): a certificate of unknown status passes and is counted (`soft`), "
            + "or its records wait (`hard`, for which an app's own root has to name a responder).")
    package static let revocationInterval = Setting(
        "verify.revocation_interval", .duration(.milliseconds(100)...(.seconds(7 * 86_400))), default: .seconds(3600),
        "OCSP refresh interval; ten seconds at most after a failed request.")
    package static let revocationDeadline = Setting(
        "verify.revocation_deadline", .duration(.seconds(1)...(.seconds(60))), default: .seconds(5),
        "OCSP request timeout, in whole seconds.")

    package static let breakerRefusedMax = Setting(
        "breaker.refused_max", .int(1...1_000_000), default: 1000,
        "Distinct signed payloads that only the settings refuse, before any was accepted, at which "
            + "the breaker trips and the worker commits nothing more.")
    package static let breakerArmedMax = Setting(
        "breaker.armed_max", .duration(.seconds(1)...(.seconds(86_400))), default: .seconds(60),
        "Time after the first batch in which such records are held and counted.")

    /// The settings that decide which records are refused.
    package static let decisive = [
        apps.declaration, bodyBytesMax.declaration, headerBytesMax.declaration, certificateBytesMax.declaration,
        jsonDepthMax.declaration, payloadDepthMax.declaration, itemsMax.declaration, outputBytesMax.declaration,
        revocation.declaration,
    ]

    package static let declarations = [
        apps.declaration, bodyBytesMax.declaration, headerBytesMax.declaration, certificateBytesMax.declaration,
        jsonDepthMax.declaration, payloadDepthMax.declaration, itemsMax.declaration, outputBytesMax.declaration,
        chainsCachedMax.declaration, keyTablesMax.declaration, threads.declaration, revocation.declaration,
        revocationInterval.declaration, revocationDeadline.declaration, breakerRefusedMax.declaration,
        breakerArmedMax.declaration,
    ]
}
