import AppStore

extension DeadLetterQuery {
    /// Whether a letter matches: the rule of `condition`, for letters that are read from the topic.
    package func matches(_ row: DeadLetterRow) -> Bool {
        Self.has(reasons, row.reason) && Self.has(classes, row.deadLetterClass) && Self.has(stages, row.stage)
            && (states.isEmpty || states.contains(row.state)) && Self.equal(bundleID, row.identifiers.bundleID)
            && Self.equal(environment, row.identifiers.environment) && Self.equal(productID, row.identifiers.productID)
            && Self.equal(worker, row.worker) && Self.equal(group, row.groupID) && matchesIdentifiers(row)
            && (since.map { $0 <= row.failedAt } ?? true) && (until.map { row.failedAt < $0 } ?? true)
    }

    private func matchesIdentifiers(_ row: DeadLetterRow) -> Bool {
        let identifiers = row.identifiers
        let certificates = row.certificates
        let isTransaction =
            transactionID.map { $0 == identifiers.transactionID || $0 == identifiers.originalTransactionID } ?? true
        let isCertificate =
            certificate.map { beginning in
                [certificates.leaf, certificates.intermediate, certificates.root].contains {
                    $0?.hasPrefix(beginning.lowercased()) ?? false
                }
            } ?? true
        return isTransaction && isCertificate && (source.map { $0 == row.source.position || $0 == row.raw } ?? true)
            && Self.has(ids, row.id)
    }

    private static func has(_ wanted: Set<String>, _ text: String) -> Bool { wanted.isEmpty || wanted.contains(text) }

    private static func equal(_ wanted: String?, _ text: String?) -> Bool { wanted.map { $0 == text } ?? true }
}
