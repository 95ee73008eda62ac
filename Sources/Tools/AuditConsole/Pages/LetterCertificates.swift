import AppStore
import DeadLetters
import HTTP
import JSON
import OpenSSL
import Records
import Store

/// The certificates of a letter's original, each chain once, with the faults of each.
struct LetterCertificates {
    private struct Chain {
        var paths: [String]
        let problem: String?
        /// The faults of each are those under any of the paths.
        var certificates: [(reading: UnverifiedChain.Reading, faults: [Fault])]

        var fingerprints: [String?] { certificates.map { $0.reading.certificate?.fingerprint.hex } }
    }

    private let row: DeadLetterRow
    private let validity: String?
    private var chains: [Chain] = []

    init(_ row: DeadLetterRow, _ dossier: LetterDossier?) {
        self.row = row
        validity = dossier?.letter.chain
        for entry in dossier?.chains ?? [] { add(entry.path, entry.chain) }
    }

    private mutating func add(_ path: String, _ chain: UnverifiedChain) {
        let new = Chain(paths: [path], problem: chain.problem, certificates: chain.readings.map { ($0, $0.faults) })
        // A certificate that cannot be read equals no other one.
        let same = chains.firstIndex { $0.fingerprints == new.fingerprints && !new.fingerprints.contains(nil) }
        guard let same else { return chains.append(new) }
        chains[same].paths.append(path)
        for (index, reading) in chain.readings.enumerated() {
            let known = chains[same].certificates[index].faults
            chains[same].certificates[index].faults += reading.faults.filter { !known.contains($0) }
        }
    }

    func write(to html: inout HTML) {
        if !chains.contains(where: { $0.fingerprints.first == .some(row.certificates.leaf) }) { fingerprints(&html) }
        for chain in chains { write(chain, &html) }
    }

    /// The reason whose faults are marked.
    ///
    /// A root that only bears the name of a configured one makes the chain invalid.
    private var marked: RefusalReason? {
        let reason = RefusalReason(rawValue: row.reason)
        let faults = chains.flatMap { $0.certificates.flatMap(\.faults) }
        let isNamed = faults.contains { $0.reason == reason }
        return reason == .chainInvalid && !isNamed ? .rootUntrusted : reason
    }

    private func write(_ chain: Chain, _ html: inout HTML) {
        html.element("h2") { html in
            html.text("Certificates of ")
            for (index, path) in chain.paths.enumerated() {
                if index > 0 { html.text(", ") }
                html.foreign(path, bytesMax: 120)
            }
        }
        html.element("p", [.class("hint")], text: "As the original has them, unverified.")
        if let problem = chain.problem { fault(Fault(.x5cLength, problem), &html) }
        for (reading, faults) in chain.certificates {
            html.element("h3") { $0.foreign(reading.role, bytesMax: 60) }
            for found in faults { fault(found, &html) }
            html.element("dl", [.class("facts")]) { html in
                for (label, value) in LetterDossier.facts(reading) {
                    html.fact(label) { html in
                        if label == "SHA-256" { html.certificate(value) } else { html.foreign(value, bytesMax: 400) }
                    }
                }
            }
        }
    }

    /// Writes a fault, in red if the letter was refused for it.
    private func fault(_ fault: Fault, _ html: inout HTML) {
        if fault.reason == marked {
            html.element("p", [.class("alert")], text: "Wrong: \(fault.detail)")
        } else {
            html.element("p", [.class("hint")], text: "Not what it was refused for: \(fault.detail)")
        }
    }

    /// The chain as the letter's headers state it, for want of the original's.
    private func fingerprints(_ html: inout HTML) {
        let named = row.certificates.named
        guard !named.isEmpty else { return }
        let document = validity.flatMap { try? JSONDocument(parsing: Array($0.utf8)) }
        html.element("h2", text: "Certificates")
        html.table(
            "The chain as it came, whether it is good or not", named,
            [
                .row("Certificate") { $0.text($1.role) }, PageColumn("SHA-256") { $0.certificate($1.fingerprint) },
                .foreign("Valid from", bytesMax: 40) { document?.root[$0.role]?["not_before"]?.string },
                .foreign("Valid until", bytesMax: 40) { document?.root[$0.role]?["not_after"]?.string },
            ])
    }
}

extension HTML {
    /// A fingerprint that links to all letters with that certificate.
    mutating func certificate(_ fingerprint: String) {
        let link = LocalLink("search", query: [HTTPItem("certificate", fingerprint)])
        element("a", [.class("mono"), .href(link)]) { $0.foreign(fingerprint, bytesMax: 64) }
    }
}
