import AppStore
package import Entitlements
import OpenSSL
import Postgres

/// The tables `renewals`, with the newest signed renewal info of each subscription, and
/// `renewal_spans`, with every span that a renewal info stated.
package enum RenewalTable {
    /// A span, and the renewal info that stated it.
    package struct Span: Hashable, Comparable, Sendable, StoredValue {
        package let key: RenewalKey
        package let span: RenewalSpan

        package init(key: RenewalKey, span: RenewalSpan) {
            self.key = key
            self.span = span
        }

        static let fields = Fields(
            { Span(key: $0, span: RenewalSpan($1, from: $2, until: $3)) }, Field(\.key), Field("kind", \.span.kind),
            Field("start_ms", \.span.start), Field("end_ms", \.span.end))

        package static func < (left: Span, right: Span) -> Bool { (left.key, left.span) < (right.key, right.span) }
    }

    private static let terms =
        Revision.columns.of(\RenewalFact.revision) + .members + OlderNaming.columns.of { $0.olderNaming }

    /// Raises facts to given revisions, which were compared with the stored ones under the purchases' locks.
    package static let raise = Statement<[RenewalFact], Void>(
        [.rows("new", RenewalKey.columns.of(\.key) + terms)],
        """
        INSERT INTO renewals ($new.columns)
        SELECT * FROM $new
        ON CONFLICT (original_transaction_id, environment, trust) DO UPDATE SET \(terms.excluded)
        """)

    /// Overwrites rows of the table.
    package static let replace = Statement.replacing("renewals", key: RenewalKey.columns.of(\.key), terms: terms)

    package static let addSpans = Statement<[Span], Void>(
        [.rows("new", Span.columns)],
        """
        INSERT INTO renewal_spans ($new.columns) SELECT * FROM $new
        ON CONFLICT DO NOTHING
        """)

    /// Removes the given spans, which no renewal info stated.
    package static let removeSpans = Statement<[Span], Void>(
        [.rows("gone", Span.columns)],
        """
        DELETE FROM renewal_spans AS known USING $gone
        WHERE \(RenewalKey.columns.equal("known", "gone"))
          AND known.kind = gone.kind AND known.end_ms = gone.end_ms
          AND known.start_ms IS NOT DISTINCT FROM gone.start_ms
        """)

    /// Reads keys, revisions and account tokens.
    package static let read = PurchaseScope.read(RenewalFact.ownershipReader, from: "renewals")

    /// Reads whole facts.
    static let readFacts = PurchaseScope.read(reader, from: "renewals")

    /// Reads the spans of known kinds; a later program version may have stored further kinds.
    package static let readSpans = PurchaseScope.read(
        Span.reader, from: "renewal_spans", where: "AND known.kind IN (\(kinds))")

    private static let kinds = RenewalSpan.Kind.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")

    /// Reads a whole fact.
    static let reader = RowReader<RenewalFact>(
        { key, revision, naming in
            var fact = RenewalFact(key: key, revision: revision)
            fact.olderNaming = naming
            return fact
        }, RenewalKey.reader, Revision.reader, OlderNaming.reader
    ).withMembers()
}
